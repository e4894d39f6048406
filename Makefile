# Everything on a machine that has git, make and Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
WITH_SPARK := $(VENV)/installed-spark
PYTEST := pytest --dist loadfile --no-loadscope-reorder  # tests/conftest.py puts what takes long first
INSTALL := $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python
export PATH := $(CURDIR)/$(BIN):$(PATH)
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export DVC_NO_ANALYTICS := 1
export MLFLOW_DISABLE_TELEMETRY := true
unexport PYTHONDONTWRITEBYTECODE  # or every process compiles all that it imports

.PHONY: repro test test-all parity docs check ui bench bench-scale simulations demo lock clean

repro: $(INSTALLED)  ## evaluate, compare, report, log
	concord mend
	dvc repro
	@echo "report: results/report/report.html    MLflow: make ui"

test: $(INSTALLED)  ## the tests for while you work: a few minutes
	$(PYTEST) -n 2 -m "not slow and not whole" --hypothesis-profile=quick

test-all: $(INSTALLED) $(WITH_SPARK)  ## all tests: also whole runs, kills over and over, servers, browsers, Spark (needs Java 17) and libraries that install quickly
	NUMBA_DISABLE_JIT=1 $(PYTEST) -n 3 -m "not slow"  # three, as some wait for servers; ranx as Python: to compile it takes minutes, which `make parity` spends

parity: $(INSTALLED)  ## measure the libraries again, each in an environment of its own, and compare with the stored values
	pytest tests/parity -m nightly

docs: $(INSTALLED)  ## write docs/ again from the catalogue, the conventions, the presets and the packages
	python -m docs.make_docs
	python -m docs.make_licences

check: $(INSTALLED)  ## style, types, docs/ and licences
	ruff check .
	ruff format --check .
	mypy
	python -m docs.make_docs --check
	python -m docs.make_licences --check

ui: $(INSTALLED)  ## the MLflow UI on the runs of this project
	mlflow ui --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port 5057

bench: $(INSTALLED)  ## speed and memory, against bounds and peers
	python -m benchmarks.run

bench-scale: $(INSTALLED)  ## time and memory against rows, 10^6 to 10^8; `python -m benchmarks.scale 10000000` for 10^9
	python -m benchmarks.scale
	python -m benchmarks.many_users

simulations: $(INSTALLED)  ## do the statistics hold what they promise?
	python -m benchmarks.simulations

demo: $(INSTALLED)  ## make the demo data again
	python data/demo/make_demo.py

lock: $(INSTALLED)  ## pin all requirements again, after a change of pyproject.toml
	uv pip compile --universal --python-version 3.11 --generate-hashes --extra all --group dev --no-header --no-annotate \
		--output-file requirements.lock pyproject.toml
	echo 'pyspark[connect]>=4,<5' | uv pip compile --universal --python-version 3.11 --constraints requirements.lock --generate-hashes --no-header --no-annotate \
		--output-file tests/spark/requirements.lock -

clean:  ## remove the environment
	rm -rf $(VENV)

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
