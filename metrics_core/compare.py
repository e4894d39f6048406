"""`compare`: the lists of several models and one truth in, a Comparison out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from metrics_core.checking.id_match import Met, fit_of
from metrics_core.checking.locked import connect
from metrics_core.checking.problems import InputError, Problem
from metrics_core.checking.relations import id_views
from metrics_core.checking.settings import Arguments
from metrics_core.comparing.compute import compared
from metrics_core.comparing.evidence.asked import (
    Adjustment,
    Asked,
    Effects,
    adjustment_findings,
    baseline_findings,
    choice_findings,
    effect_findings,
    effects_of,
    in_report_order,
    label_findings,
    model_findings,
    number_findings,
)
from metrics_core.comparing.evidence.evaluated import Evaluated, Ground
from metrics_core.comparing.evidence.evidence import Evidence
from metrics_core.comparing.evidence.segmentations import segment_findings, segmentations_of
from metrics_core.comparison.comparison import Comparison
from metrics_core.conventions.presets import Chosen
from metrics_core.evaluate import labels_of, pinned_by
from metrics_core.inputs import users_without_items
from metrics_core.metrics.catalogue import spelled
from metrics_core.reading.background import read_users
from metrics_core.reading.columns.input_table import InputTable
from metrics_core.reading.formats.frames import Data
from metrics_core.reading.given import ROLES, Columns, columns_named, table_given
from metrics_core.reading.loaded import (
    Loaded,
    load_items,
    load_lists,
    load_train,
    load_truth,
    load_users,
)
from metrics_core.reading.rules.policies import Policies, policies_of
from metrics_core.scoring.background import Background
from metrics_core.scoring.evaluation import Gathered, panels_of, summary_content, task_of
from metrics_core.scoring.grade_fit import misgraded
from metrics_core.scoring.in_memory import evaluate_tables
from metrics_core.scoring.panel import Panel
from metrics_core.scoring.partition import evaluated
from metrics_core.scoring.validity import validity

_LOADERS = {"train": load_train, "items": load_items, "users": load_users}
_OF_A_TABLE = ("path", "sha256", "md5")  # by which a table is known


def compare(
    models: Mapping[str, Data],
    truth: Data,
    *,
    metrics: Sequence[str],
    baseline: str,
    conventions: Chosen,
    primary: Sequence[str] | None = None,
    min_effect: Effects = 0.0,
    train: Data | None = None,
    items: Data | None = None,
    users: Data | None = None,
    segments: Mapping[str, Mapping[str, Any]] | None = None,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,
    title: str = "Comparison",
    confidence: float = 0.95,
    adjustment: Adjustment = "holm",
    wilcoxon: bool = False,
    resamples: int = 2000,
    seed: int = 1,
    panel: bool = True,
) -> Comparison:
    """Every model against every other, on the same users, under the same conventions.

    The stage `compare` of the pipeline computes the same: the same tables give the same Comparison.

    Parameters
    ----------
    models      : name -> lists, as `evaluate` takes them: frames, paths or dicts
    truth       : as `evaluate` takes it; its column `time` is read where `columns` names it
    metrics     : labels such as "nDCG@10"
    baseline    : the model that all others are compared with
    conventions : `metrics_core.preset(name)`, the name of a preset, or a dict
    primary     : the labels that decide, the most important first; else the first of `metrics`. Their p values are
                  adjusted together, over all pairs of models
    min_effect  : the smallest difference that matters: a number, a share of the baseline's mean such as "2%", or one
                  a label with `default` for the others
    train       : `user`, `item` [, `time`]: what the models learned from
    items       : the catalogue: `item` [, `categories` | `vector`] [, `title`]
    users       : `user`, and columns that `segments` name
    segments    : name -> {"by": "activity", "edges": [0, 20]}: users by interactions in train;
                  {"by": "user", "column": "country"}: users by a column, with `edges` a number that is cut there;
                  {"by": "truth_item", "shares": [0.5, 0.8]} or {"by": "recommended_item", …}: items by popularity
    columns     : what tables call their columns: {"truth": {"user": "user_id"}, "als": {"score": "prediction"}}
    input       : what tables may hold beside the usual, such as {"negative_grade": "zero"}
    confidence  : of all intervals and tests
    adjustment  : of the primary p values: "holm", or "max_t": joint sign flips
    wilcoxon    : give its p values too; no verdict rests on them
    resamples   : of bootstrap, sign flips and list swaps, which begin at `seed`
    panel       : tell the primary labels under the definitions of all presets too

    Raises
    ------
    InputError : what is wrong, where, and what to do; nothing is dropped or filled silently
    """
    pinned = pinned_by(conventions)
    labels = labels_of(metrics)
    deciding = [str(labels[0])] if primary is None else primary
    settings, names = Arguments("truth"), [str(label) for label in labels]
    background = {"train": train, "items": items, "users": users}
    segmentations = segmentations_of(segments or {})
    _refuse(
        [*model_findings(models), *label_findings(names, deciding), *effect_findings(min_effect)]
    )
    _refuse(number_findings(confidence=confidence, resamples=resamples, seed=seed))
    _refuse(adjustment_findings(adjustment))
    _refuse(
        [
            *baseline_findings(baseline, models),
            *choice_findings(deciding, min_effect, names, settings),
            *segment_findings(segmentations, _given(background), settings),
        ]
    )
    asked = Asked(
        title=title,
        conventions=pinned,
        labels=in_report_order(labels),
        ks=sorted({label.k for label in labels if label.k is not None}),
        primary=[spelled(text) for text in deciding],
        min_effects=effects_of(min_effect, names),
        baseline=baseline,
        confidence=confidence,
        adjustment=adjustment,
        wilcoxon=wilcoxon,
        resamples=resamples,
        seed=seed,
        panel=panel,
        settings=settings,
        segments=segmentations,
    )
    roles = {**ROLES, **dict.fromkeys(models, "recs")}
    panels = panels_of(asked.labels, asked.primary if panel else (), pinned)
    reader = _Reader(asked, policies_of(input or {}), columns_named(columns or {}, roles), panels)
    data = reader.data(truth, background)
    results = {model: reader.evaluated(model, recs, data) for model, recs in models.items()}
    return compared(Evidence(asked, results, data.ground))


def _refuse(found: Iterable[tuple[str, str, str]]) -> None:
    if problems := [Problem(*each) for each in found]:
        raise InputError(problems)


def _given(background: Mapping[str, Data | None]) -> list[str]:
    return [name for name, table in background.items() if table is not None]


@dataclass(frozen=True)
class _Data:
    """What all models are evaluated on.

    tables : role -> what messages call it, and what was found in it
    known  : the users who are evaluated, where they are more than those of the truth
    """

    ground: Ground
    tables: Mapping[str, tuple[InputTable, Mapping[str, Any]]]
    known: pl.DataFrame | None

    def inputs(self) -> dict[str, dict[str, Any]]:
        """By what each table is known."""
        return {role: _known_by(found) for role, (_, found) in self.tables.items()}


@dataclass(frozen=True)
class _Reader:
    """Reads, checks and evaluates what people hand over, by the functions that the pipeline's stages call."""

    asked: Asked
    policies: Policies
    columns: Columns
    panels: Mapping[str, Panel]

    def data(self, truth: Data, background: Mapping[str, Data | None]) -> _Data:
        """Truth, and what else is given."""
        asked, nobody = self.asked, isinstance(truth, Mapping) and bool(truth)
        table = table_given("truth", truth, self.columns)
        judgements, found = _kept(
            lambda c: load_truth(c, table, self.policies, asked.conventions, may_be_empty=nobody)
        )
        highest: Any = judgements["grade"].max()
        wrong = misgraded(highest, asked.labels, asked.conventions, table.name, table.settings)
        if problems := list(wrong):
            raise InputError(problems)
        tables: dict[str, tuple[InputTable, Mapping[str, Any]]] = {"truth": (table, found)}
        frames: dict[str, pl.DataFrame | None] = dict.fromkeys(background)
        for role in _given(background):
            frames[role], tables[role] = self._background(role, background[role])
        ground = Ground(judgements, **frames, truth_quality=found, connecting=_connecting)
        return _Data(ground, tables, _known(judgements, users_without_items(truth)))

    def _background(
        self, role: str, data: Data
    ) -> tuple[pl.DataFrame, tuple[InputTable, Mapping[str, Any]]]:
        own = Path(data) if isinstance(data, str) else data
        table = table_given(role, own, self.columns)
        frame, found = _kept(lambda connection: _LOADERS[role](connection, table))
        return frame, (table, found)

    def evaluated(self, model: str, recs: Data, data: _Data) -> Evaluated:
        """One model's results."""
        asked, pinned, ground = self.asked, self.asked.conventions, data.ground
        table = table_given(model, recs, self.columns, role="recs")
        # A dict says no ranks of its own: those that it is given begin at 1.
        own = replace(self.policies, rank_base=1) if isinstance(recs, Mapping) else self.policies
        lists, found = _kept(lambda connection: load_lists(connection, table, own, pinned))
        gathered = Gathered(task_of(asked.labels, pinned, self.panels))
        fit, doubts = self._told_of_ids(table, lists, data, gathered.task.cutoffs)
        judgements = ground.truth
        assert isinstance(judgements, pl.DataFrame)
        with connect() as connection:
            background = Background(ground.train, ground.items)
            part = evaluate_tables(
                connection, lists, judgements, gathered.task, background, known=data.known
            )
        gathered.add(part)
        summary = summary_content(
            model,
            gathered,
            gathered.summaries(
                lambda name: part.values[name].drop_nulls().to_numpy(), asked.confidence
            ),
            self.panels,
            validity=doubts,
            fit=fit,
            inputs={
                "truth": _known_by(ground.truth_quality),
                "lists": _known_by(found),
                **{role: told for role, told in data.inputs().items() if role != "truth"},
            },
        )
        values = evaluated(part.values, gathered.task)
        others = part.values.select("user", *gathered.definitions)
        return Evaluated(values, others, lists, summary, {"model": model, **found})

    def _told_of_ids(
        self, table: InputTable, lists: pl.DataFrame, data: _Data, ks: Sequence[int]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Do the ids fit, and what do lists, truth and train say of the evaluation?"""
        ground, least = data.ground, self.asked.conventions.relevance_threshold
        tables = {"lists": lists, "truth": ground.truth}
        catalogue = data.tables["items"][0].name if "items" in data.tables else None
        policy = self.policies.unknown_items
        met = Met(table.name, table.columns, catalogue, policy, table.settings)
        with connect() as connection:
            id_views(
                connection, tables | ({"items": ground.items} if ground.items is not None else {})
            )
            fit = fit_of(connection, met)
        with connect() as connection:
            id_views(
                connection, tables | ({"train": ground.train} if ground.train is not None else {})
            )
            has_train = ground.train is not None
            return fit, validity(connection, has_train=has_train, ks=ks, threshold=least)


def _kept(load: Callable[[DuckDBPyConnection], Loaded]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The rows of a table, and what was found in it."""
    with connect() as connection:
        found = load(connection)
        return pl.DataFrame(connection.sql(found.query).to_arrow_table()), found.quality


def _known(judgements: pl.DataFrame, without_items: Sequence[Any]) -> pl.DataFrame | None:
    """The users of the truth and those of whom it holds no item; None where there are none of the latter."""
    if not without_items:
        return None
    with connect() as connection:
        read_users(connection, table_given("users", without_items, {}))
        others = pl.DataFrame(connection.sql("SELECT user FROM source").to_arrow_table())
    users = judgements.select("user")
    if users.schema != others.schema:
        users, others = (frame.cast(pl.String) for frame in (users, others))
    return pl.concat([users, others])


def _known_by(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: found[key] for key in _OF_A_TABLE}


def _connecting(files: Iterable[Path]) -> DuckDBPyConnection:
    return connect(reads=files)
