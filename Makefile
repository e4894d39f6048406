# Everything on a machine that has git, make and Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
WITH_SPARK := $(VENV)/installed-spark
SITE_VENV := .venv-site
WITH_SITE := $(SITE_VENV)/installed
SITE := docs/_build/html
PYTEST := pytest -n $(or $(WORKERS),3) --dist worksteal  # more workers than cores, as some tests wait for servers
INSTALL := $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python
export PATH := $(CURDIR)/$(BIN):$(PATH)
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export DVC_NO_ANALYTICS := 1
export MLFLOW_DISABLE_TELEMETRY := true
# as pip does: a proxy may have a certificate that only the system knows
export UV_SYSTEM_CERTS ?= 1
unexport PYTHONDONTWRITEBYTECODE  # or every process compiles all that it imports

.PHONY: repro test test-all nightly snapshots parity docs site images check ui bench bench-scale simulations demo lock clean

repro: $(INSTALLED)  ## evaluate, compare, report, log
	dvc repro
	@echo "report: results/report/report.html    MLflow: make ui"

test: $(INSTALLED)  ## the tests for while you work: all but the slow ones
	$(PYTEST) -m "not whole and not nightly" --quick --hypothesis-profile=quick

test-all: $(INSTALLED) $(WITH_SPARK)  ## all tests that a change has to pass: also whole runs, servers, a browser, Spark (needs Java 17)
	$(PYTEST) -m "not nightly"

nightly: $(INSTALLED) $(WITH_SPARK) $(WITH_SITE)  ## what is slow and rarely breaks: libraries for parity, kills, old versions, stores, browsers, the site, many examples, simulations
	$(PYTEST) -m nightly
	$(PYTEST) -m "hypothesis and not nightly" --hypothesis-profile=nightly -o faulthandler_timeout=3600  # 1,000 examples take up to 20 minutes
	python -m benchmarks.simulations --check

snapshots: $(INSTALLED)  ## store the texts of pages, Markdown and comments again, after a change of their words
	CONCORD_WRITE_SNAPSHOTS=1 pytest -q tests/reports/test_snapshots.py

parity: $(INSTALLED)  ## measure every library again, each in an environment of its own, and compare with the stored values
	pytest tests/parity -m nightly

docs: $(INSTALLED)  ## write docs/ again from the catalogue, the conventions, the presets and the packages
	python -m docs.option_types
	python -m docs.make_docs
	python -m docs.make_licences

site: $(WITH_SITE)  ## the documentation site, in docs/_build/html; a warning is an error
	$(SITE_VENV)/bin/sphinx-build --fail-on-warning --keep-going --nitpicky --jobs auto --quiet -d docs/_build/doctrees -c docs . $(SITE)
	@echo "site: $(SITE)/index.html"

images: repro  ## make the pictures of docs/ again, from the report on the demo (needs Chromium)
	python -m docs.make_images

check: $(INSTALLED)  ## style, architecture, types, words, docs/ and licences
	ruff check .
	ruff format --check .
	lint-imports --no-logo --no-cache
	mypy
	python -m docs.check_words
	python -m docs.make_docs --check
	python -m docs.make_licences --check

ui: $(INSTALLED)  ## the MLflow UI on the runs of this project
	@echo "http://127.0.0.1:5057/#/experiments/1/runs?viewStateShareKey=concord"
	mlflow ui --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port 5057

bench: $(INSTALLED)  ## speed and memory, against bounds and peers, on a machine at rest; `python -m benchmarks.run peers` for a section
	python -m benchmarks.run

bench-scale: $(INSTALLED)  ## time and memory against rows, 10^6 to 10^8; `python -m benchmarks.scale 10000000` for 10^9
	python -m benchmarks.scale
	python -m benchmarks.many_users

simulations: $(INSTALLED)  ## do the statistics hold what they promise?
	python -m benchmarks.simulations

demo: $(INSTALLED)  ## make the demo data again
	python data/demo/make_demo.py
	python data/demo/make_excerpt.py
	python data/demo-search/make_demo.py

lock: $(INSTALLED)  ## pin all requirements again, after a change of pyproject.toml
	uv pip compile --universal --python-version 3.11 --generate-hashes --extra all --group dev --no-header --no-annotate \
		--output-file requirements.lock pyproject.toml
	echo 'pyspark[connect]>=4' | uv pip compile --universal --python-version 3.11 --constraints requirements.lock --generate-hashes --no-header --no-annotate \
		--output-file tests/spark/requirements.lock -
	uv pip compile --universal --python-version 3.11 --constraints requirements.lock --constraints tests/spark/requirements.lock --extra all --extra delta --extra spark --no-header --no-annotate \
		--output-file packaging/constraints.txt pyproject.toml
	printf '%s\n' 'sphinx>=9' myst-nb numpydoc pydata-sphinx-theme sphinx-copybutton | uv pip compile --universal --python-version 3.11 --constraints requirements.lock --generate-hashes --no-header --no-annotate \
		--output-file docs/requirements.lock -

clean:  ## remove the environments
	rm -rf $(VENV) $(SITE_VENV)

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Concord needs Python 3.11 or newer; make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\]$$/p' requirements.lock > $(VENV)/uv.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement $(VENV)/uv.txt
	$(INSTALL) --require-hashes --requirement requirements.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(WITH_SPARK): tests/spark/requirements.lock $(INSTALLED)  # 456 MB, which only these tests need
	$(INSTALL) --require-hashes --requirement tests/spark/requirements.lock
	@touch $@

# of its own: Sphinx and what it needs change nothing that tests import
$(WITH_SITE): docs/requirements.lock $(INSTALLED)
	uv venv --quiet --clear --python $(BIN)/python $(SITE_VENV)
	uv pip install --quiet --python $(SITE_VENV)/bin/python --require-hashes --requirement requirements.lock --requirement docs/requirements.lock
	uv pip install --quiet --python $(SITE_VENV)/bin/python --no-deps --no-build-isolation --editable .
	@touch $@
