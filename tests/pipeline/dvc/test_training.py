"""Training parameters that changed: by a DVC repository, and by texts of dvc.lock."""

from contextlib import chdir
from pathlib import Path

import pytest

from concord.metrics_core.results.history import Setting
from concord.pipeline.dvc.training import (
    RepositoryStages,
    continued_paths,
    read_repository_stages,
    training_changes,
)
from tests.pipeline.dvc.revisions import commit, git
from tests.project import run

STAGES = """
vars: [knn.toml]
stages:
  split:
    cmd: cp raw.csv split.csv
    deps: [raw.csv]
    params: [split.seed]
    outs: [split.csv]
  train:
    foreach: [als, ease]
    do:
      cmd: mkdir -p lists && cp split.csv lists/${item}.csv
      deps: [split.csv]
      params: ['train.${item}', conf/all.json: ]
      outs: ['lists/${item}.csv']
  knn:
    matrix: {k: [5, 10]}
    wdir: ../knn
    cmd: cp ../train/split.csv ${item.k}.csv && echo --k ${item.k} --shrink ${shrink}
    deps: [../train/split.csv]
    outs: ['${item.k}.csv']
  rerank:
    cmd: mkdir ranked && cp lists/als.csv ranked/all.csv
    deps: [lists/als.csv]
    params: [../evaluation/params.yaml: [rerank]]
    outs: [ranked]
"""
PATHS = {
    "als": "../train/lists/als.csv",
    "ease": "../train/./lists/ease.csv",
    "knn": "../knn/5.csv",
    "reranked": "../train/ranked/all.csv",
    "popular": "popular.csv",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models trained in `train`, evaluated in `evaluation`; other parameters since the commit."""
    root = tmp_path_factory.mktemp("training")
    git(root, "init", "-q")
    run(root, "dvc", "init", "-q")
    for folder in ("train/conf", "knn", "evaluation"):
        (root / folder).mkdir(parents=True)
    train = root / "train"
    (train / "raw.csv").write_text("user,item\n")
    (train / "dvc.yaml").write_text(STAGES)
    layers = [64] * 30
    write_params(root, seed=1, alpha=10, layers=[*layers, 32], lr=0.1, shrink=5, depth=3)
    run(train, "dvc", "repro", "-q")
    commit(root, "first")
    write_params(root, seed=1, alpha=2, layers=[*layers, 16], lr=0.2, shrink=7, depth=4)
    run(train, "dvc", "repro", "-q")
    return root


def write_params(root: Path, **values: object) -> None:
    texts = {
        "train/params.yaml": "split: {{seed: {seed}}}\n"
        "train: {{als: {{alpha: {alpha}}}, ease: {{net: {{layers: {layers}}}}}}}\n",
        "train/conf/all.json": '{{"optimizer": {{"lr": {lr}}}}}',
        "train/knn.toml": "shrink = {shrink}\n",
        "evaluation/params.yaml": "rerank: {{depth: {depth}}}\n",
    }
    for name, text in texts.items():
        (root / name).write_text(text.format(**values))


def test_changes_are_those_of_all_stages_that_lead_to_a_model(repository: Path) -> None:
    with chdir(repository / "evaluation"):
        names = [git(repository, "rev-parse", "HEAD").strip(), ""]
        previous, current = read_repository_stages(names)
        changes = training_changes(previous, current, {m: (p, p) for m, p in PATHS.items()})

    layers = "64, " * 30
    assert changes == (
        Setting("../train/params.yaml:train.als.alpha", "10", "2", ("als", "reranked")),
        Setting("../train/conf/all.json:optimizer.lr", "0.1", "0.2", ("als", "ease", "reranked")),
        Setting(
            "../train/params.yaml:train.ease.net.layers",
            f"[{layers}32]",
            f"[{layers}16]",
            ("ease",),
        ),
        Setting("knn --shrink", "5", "7", ("knn",)),
        Setting("rerank.depth", "3", "4", ("reranked",)),
    )


def stages(command: str, params: str = "{}", output: str = "als.csv") -> RepositoryStages:
    lock = f"""schema: '2.0'
stages:
  train@als:
    cmd: {command}
    params:
      params.yaml: {params}
    outs:
    - path: {output}
      md5: 1e10
"""
    return RepositoryStages(".", {".": (lock, "")})


OLD, NEW = "{train: {seed: 1, deep: {a: x}}}", "{train: {seed: 1, deep: {a: y, b: [1, z]}}}"


@pytest.mark.parametrize(
    ("previous", "current", "changes"),
    [
        (stages("t", OLD), stages("t", OLD), []),
        (stages("t", OLD), stages("t", NEW), ["train.deep.a x y", "train.deep.b none [1, z]"]),
        (stages("t --k 5 -v"), stages("t --k=6"), ["train --k 5 6", "train -v set none"]),
        (stages("t a=-1 'b"), stages("t a=-2 'b"), ["train a -1 -2"]),
        (stages("t --seed 1", "{seed: 1}"), stages("t --seed 2", "{seed: 2}"), ["seed 1 2"]),
        (stages("t 1", output="als.csv/part"), stages("t", "{a: 1}"), ["a none 1"]),
        (stages("t", "{a: 1}"), stages("t", "{a: 2}", output="others.csv"), []),
        (stages("t", "{a: 1}"), RepositoryStages(".", {".": ("<<<<<<<", "")}), []),
    ],
)
def test_changes_of_parameters_and_options(
    previous: RepositoryStages, current: RepositoryStages, changes: list[str]
) -> None:
    result = training_changes(previous, current, {"als": ("als.csv", "als.csv")})

    assert [f"{each.name} {each.then} {each.now}" for each in result] == changes


def test_renamed_models_keep_their_former_path() -> None:
    previous = {"als": {"path": "a.csv"}, "knn": {"path": "k.csv"}, "gone": {"path": "g.csv"}}
    current = {"slim": {"path": "s.csv", "was": "als"}, "knn": {"path": "k2.csv"}, "new": {}}

    assert continued_paths(previous, current) == {
        "slim": ("a.csv", "s.csv"),
        "knn": ("k.csv", "k2.csv"),
    }
