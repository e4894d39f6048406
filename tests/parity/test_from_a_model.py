"""Page docs/how-to/from-a-model-to-lists.md: its code writes what the libraries recommend.

The code of each library runs in an environment of its own. The lists that it writes are compared
with the model's own scores, which code of this module asks for one user at a time.
"""

import json
import re
from contextlib import chdir
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.parity.measure import SCRIPTS, python_with
from tests.project import ROOT, run, run_process

PAGE = ROOT / "docs" / "how-to" / "from-a-model-to-lists.md"
PICKLE = "A repository that keeps a model and metrics"
DATA = "Data of the examples"
K = 10
_CODE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SCORES = {  # heading -> code that defines `scores_of`: item -> score, of one user
    "implicit": """
def scores_of(user):
    code = list(users).index(user)
    scores = model.user_factors[code] @ model.item_factors.T
    return dict(zip(items, scores))
""",
    "LightFM": """
def scores_of(user):
    return {i: model.predict([users[user]], [code])[0] for i, code in items.items()}
""",
    "RecBole": """
def scores_of(user):
    code = dataset.token2id("user_id", user)
    names = dataset.id2token("item_id", np.arange(1, dataset.item_num))
    vectors = model.item_embedding.weight[1:].detach()
    return dict(zip(names, (vectors @ model.user_embedding.weight[code].detach()).numpy()))
""",
    "LensKit": """
from lenskit import score

def scores_of(user):
    return score(pipeline, user, dataset.items.ids()).to_df().set_index("item_id")["score"]
""",
    "RecTools": """
def scores_of(user):
    lists = model.recommend([user], dataset, k=1000, filter_viewed=False)
    return lists.set_index("item_id")["score"]
""",
    "Surprise": """
def scores_of(user):
    return {item: model.predict(user, item).est for item in train["item_id"].unique()}
""",
    "scikit-learn": """
factors = NMF(n_components=8, random_state=0).fit_transform(matrix)

def scores_of(user):
    return dict(zip(items, factors[list(users).index(user)] @ model.components_))
""",
    "sentence-transformers": """
vectors = {item: model.encode(text) for item, text in documents.items()}

def scores_of(user):
    query = model.encode(queries[user])
    length = np.linalg.norm
    return {item: query @ v / length(query) / length(v) for item, v in vectors.items()}
""",
}
_TRAINING = """
import json
import pickle
from pathlib import Path

import pandas as pd

class Popular:
    def __init__(self, train):
        self.counts = train["item_id"].value_counts()
        self.seen = train.groupby("user_id")["item_id"].agg(set)

    def recommend(self, user, n):
        return [(i, c) for i, c in self.counts.items() if i not in self.seen[user]][:n]

train = pd.read_parquet("data/train.parquet")
users = train["user_id"].unique()
model = Popular(train)
with open("model.pkl", "wb") as file:
    pickle.dump(model, file)
with open("metrics.json", "w") as file:
    json.dump({"n_users": len(users)}, file)
"""
_DUMP = """
import json
scores = {
    user: {item: float(score) for item, score in dict(scores_of(user)).items()}
    for user in test["user_id"].unique()
}
Path("scores.json").write_text(json.dumps(scores))
"""
_ENCODER = """
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers
words = {f"item-{i}": i for i in range(118)} | {"text": 118, "of": 119, "?": 120}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="?"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
module = StaticEmbedding(tokenizer, embedding_dim=8)
SentenceTransformer(modules=[module], device="cpu").save("models/encoder")
"""


def _sections() -> dict[str, list[tuple[str, str]]]:
    """Return the blocks of code under each heading of the page, with their languages."""
    _, *sections = PAGE.read_text(encoding="utf-8").split("\n## ")
    return {section.partition("\n")[0]: _CODE.findall(section) for section in sections}


def _code(heading: str, language: str = "python") -> list[str]:
    """Return the blocks of a language under a heading."""
    return [code for name, code in _sections()[heading] if name == language]


def test_every_library_of_the_page_is_tested() -> None:
    with_code = [heading for heading, blocks in _sections().items() if blocks]

    assert with_code == [PICKLE, DATA, *_SCORES]


def test_init_finds_the_lists_that_a_training_stage_writes_as_one_more_output(
    tmp_path: Path,
) -> None:
    (addition,) = _code(PICKLE)
    (stages,) = _code(PICKLE, "yaml")
    (console,) = _code(PICKLE, "console")
    names: dict[str, Any] = {}
    with chdir(tmp_path):
        exec(_code(DATA)[0], names)
        (tmp_path / "recs").rmdir()
    (tmp_path / "train.py").write_text(_TRAINING + addition)
    run(tmp_path, "git", "init", "-q")
    run(tmp_path, "dvc", "init", "-q")
    (tmp_path / "dvc.yaml").write_text(stages)
    run_process(tmp_path, "dvc", "repro", "-q")

    output = run(tmp_path, "concord", "init")
    found = output.partition("assumed")[0]
    assert console == f"$ concord init\n{found}…\n"
    run(tmp_path / "evaluation", "concord", "validate")


@pytest.mark.nightly
@pytest.mark.parametrize("library", _SCORES)
def test_the_code_writes_the_best_items_that_a_user_has_not_seen(
    library: str, tmp_path: Path
) -> None:
    name = library.lower().replace("-", "_")
    python = str(python_with(SCRIPTS / f"lists_{name.replace('scikit_learn', 'sklearn')}.txt"))
    data, evaluate = _code(DATA)
    if library == "sentence-transformers":
        (tmp_path / "encoder.py").write_text(_ENCODER)
        run_process(tmp_path, python, "encoder.py")
    code = "\n".join([data, *_code(library), _SCORES[library], _DUMP])
    (tmp_path / "recommend.py").write_text(code)
    run_process(tmp_path, python, "recommend.py", HF_HUB_OFFLINE="1")

    (path,) = (tmp_path / "recs").iterdir()
    assert f'"recs/{path.name}"' in code
    lists, train, test = (
        pl.read_parquet(tmp_path / each)
        for each in (path, "data/train.parquet", "data/test.parquet")
    )
    scores = json.loads((tmp_path / "scores.json").read_text())
    recalls = []
    for (user,), relevant in test.group_by("user_id"):
        seen = set(train.filter(user_id=user)["item_id"])
        unseen = {item: score for item, score in scores[user].items() if item not in seen}
        written = lists.filter(user_id=user)
        kept = dict(written.select("item_id", "score").rows())
        assert kept == pytest.approx({item: unseen[item] for item in kept}, rel=1e-4, abs=1e-4)
        assert len(kept) == len(written) == min(100, len(unseen))
        left_out = [score for item, score in unseen.items() if item not in kept]
        assert min(kept.values()) >= max(left_out, default=-1e9) - 1e-4
        ranked = _ranked(written)
        recalls.append(len({*ranked[:K]} & {*relevant["item_id"]}) / len(relevant))

    names: dict[str, Any] = {}
    with chdir(tmp_path):
        exec(evaluate.replace("implicit.parquet", path.name), names)
    assert names["result"]["R@10"] == pytest.approx(sum(recalls) / len(recalls), abs=1e-12)


def _ranked(lists: pl.DataFrame) -> list[str]:
    """Return the items of a user by rank, or else by score, with ties by id."""
    if "rank" in lists.columns:
        return lists.sort("rank")["item_id"].to_list()
    return lists.sort("score", "item_id", descending=[True, False])["item_id"].to_list()
