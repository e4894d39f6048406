"""`audit`: leakage of a split, cold users and items, and the effect of the affected users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from concord.metrics_core.analyses.audit.checks import (
    COLD_ITEMS,
    COLD_USERS,
    KINDS,
    TRAIN_AFTER_TRUTH,
    TRUTH_BEFORE_TRAIN,
    TRUTH_IN_TRAIN,
    AuditTables,
    CheckedRows,
    Kind,
    born_after_query,
    copies_query,
    find_copies,
    find_future_items,
    find_rows,
    open_tables,
)
from concord.metrics_core.analyses.audit.effects import (
    POPULARITY_DRIFT,
    Flags,
    find_reversals,
    leave_out_effects,
    measure_drift,
)
from concord.metrics_core.analyses.audit.result import Audit, AuditCheck, CheckCount
from concord.metrics_core.comparison.arguments import parse_list_arguments
from concord.metrics_core.comparison.compute import collect_conventions
from concord.metrics_core.comparison.inputs import ComparisonInput, evaluate_models
from concord.metrics_core.comparison.options import Options
from concord.metrics_core.comparison.replicates import with_replicates
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.argument_types import Data, ModelColumns, PolicyOptions, Truth
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.model_result import results_by_list
from concord.metrics_core.evaluation.score import mean_weight
from concord.metrics_core.evaluation.warnings.data import (
    severity_of_rows,
    split_warning,
    truth_in_train_warning,
    unrelated_train_warning,
)
from concord.metrics_core.evaluation.warnings.lists import largest_share
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.results.comparison_parts import DataWarning, Severity

_TIMES_FIX = "name their columns: `columns={'truth': {'time': …}, 'train': {'time': …}}`"
_TRAIN_SHARE_AFTER = """
SELECT count(*) FILTER (last > (SELECT quantile_disc(began, 0.5) FROM begins)) / count(*)
FROM train
"""
_TIME_CHECKS = (
    "truth_before_train",
    "train_after_truth",
    "future_items",
    "items_born_after",
    "users_born_after",
)
_CheckOutcome = tuple[AuditCheck, pl.Series]  # a check, and the ids of the affected users


def audit(
    models: Mapping[str, Data],
    truth: Truth,
    *,
    train: Data,
    metrics: Sequence[str],
    conventions: ConventionsLike = "standard",
    items: Data | None = None,
    columns: ModelColumns | None = None,
    input: PolicyOptions | None = None,
    confidence: float = 0.95,
) -> Audit:
    """Check a split for leakage, cold users and cold items, and their effect on the means.

    Each check counts the rows, users and items that it affects, and computes the means without the
    affected users. `concord audit` does the same for a project.

    Parameters
    ----------
    models, truth, items, columns, input
        As for `compare`. Times of the ground truth are used if `columns` names their column.
        Copies of items are detected by the items' `title` and `vector`.
    train : path, frame or dict
        Training data: `user`, `item` and, optionally, `time`.
    metrics : list of str
        Labels such as "nDCG@10", each with a value per user. Lists are checked up to the first
        cutoff.
    conventions : Conventions, str or dict, default="standard"
        `concord.preset(name)`, the name of a preset, or a dict.
    confidence : float, default=0.95
        Level of all intervals.

    Returns
    -------
    Audit
        Counts, examples and warnings of each check, with its effects on the means.

    Raises
    ------
    InputError
        If an argument or a row of a table is invalid.

    References
    ----------
    Meng, McCreadie, Macdonald & Ounis (2020), RecSys, 681-686.  doi:10.1145/3383313.3418479
    Ji, Sun, Zhang & Li (2023), ACM TOIS 41(3), 75.  doi:10.1145/3569930
    Sun (2023), SIGIR.  doi:10.1145/3539618.3591931
    Hidasi & Czapp (2023), RecSys.  arXiv:2307.14951
    Gusak, Volodkevich, Klenitskiy, Vasilev & Frolov (2025), RecSys.  arXiv:2507.16289
    Kaufman, Rosset, Perlich & Stitelman (2012), ACM TKDD 6(4), 15.  doi:10.1145/2382577.2382579

    Examples
    --------
    >>> import concord as cc
    >>> demo = cc.datasets.load_demo()
    >>> audit = cc.audit(
    ...     {"als": demo.models["als"]},
    ...     demo.truth,
    ...     train=demo.train,
    ...     metrics=["nDCG@10"],
    ...     columns={"truth": {"time": "time"}, "train": {"time": "time"}},
    ... )
    >>> [check.name for check in audit.findings]
    ['cold_users', 'cold_items']
    """
    tables = {"train": train, "items": items, "users": None}
    parsed = parse_list_arguments(
        models,
        truth,
        metrics=metrics,
        conventions=conventions,
        tables=tables,
        columns=columns,
        options=Options(title="Audit", confidence=confidence, input=input),
        takes_unit=False,
    )
    parsed.rules = replace(parsed.rules, paired_replicates=bool(parsed.folds))
    parsed.parse(refuse_unit, parsed.conventions, default=None)
    baseline = next(iter(parsed.models), "")
    config = parsed.config(baseline, parsed.names, arguments={"primary": "metrics"})
    results, data = evaluate_models(config, parsed)
    inputs = ComparisonInput(config, with_replicates(results, config), data)
    return audit_evaluations(inputs, times_fix=_TIMES_FIX)


def refuse_unit(conventions: Conventions) -> None:
    """Raise an InputError if the unit of evaluation is a session."""
    if conventions.unit_mean is not None:
        problem = "the unit is a session, but an audit compares users of ground truth and train"
        raise refuse(("conventions", "unit_mean"), problem, "audit lists of users, without a unit")


def audit_evaluations(inputs: ComparisonInput, *, times_fix: str) -> Audit:
    """Return the audit of evaluated models.

    Parameters
    ----------
    inputs : ComparisonInput
        Evaluated models, with training data.
    times_fix : str
        How to provide times of train and ground truth, for the message that they are missing.

    Returns
    -------
    Audit
        Counts, examples and warnings of each check, with its effects on the means.
    """
    config = inputs.config
    with open_tables(inputs.models, inputs.data) as tables:
        results = list(_run_checks(inputs, tables))
    users = inputs.aligned.users.cast(pl.String)
    affected = {
        check.name: users.is_in(ids.implode()).to_numpy()
        for check, ids in results
        if check.count.severity is not None
    }
    pooled = [label for label in config.primary_labels if _is_ratio(label, config.conventions)]
    labels = [label for label in config.primary_labels if label not in pooled]
    checks = _with_effects([check for check, _ in results], labels, inputs, affected)
    return Audit(
        models=tuple(inputs.models),
        primary=tuple(config.primary),
        pooled=tuple(map(str, pooled)),
        higher_is_better={
            str(each): each.metric.higher_is_better for each in config.primary_labels
        },
        confidence=config.confidence,
        n_users=len(users),
        checks=tuple(checks),
        times_fix=times_fix,
        conventions=collect_conventions(config),
    )


def _is_ratio(label: Label, conventions: Conventions) -> bool:
    """True if the mean is one ratio over all users instead of the mean of users' values."""
    return is_pooled(label, conventions) or mean_weight(label, conventions) is not None


def _with_effects(
    checks: Sequence[AuditCheck],
    labels: Sequence[Label],
    inputs: ComparisonInput,
    affected: Mapping[str, Flags],
) -> Iterable[AuditCheck]:
    """Return the checks with the effects of leaving out the affected users."""
    config, by_name = inputs.config, {check.name: check for check in checks}
    for label in labels:  # the outer loop, so that the values of a label are read once
        undefined = label.conventions(config.conventions).undefined
        values = inputs.aligned.values(str(label), undefined)
        for name, flags in affected.items():
            if not flags.any():
                continue
            check = by_name[name]
            effects = leave_out_effects(name, str(label), values, flags, config.confidence)
            reversals = find_reversals(name, str(label), values, flags, config.confidence)
            by_name[name] = replace(
                check,
                effects=(*check.effects, *effects),
                reversals=(*check.reversals, *reversals),
            )
    return by_name.values()


def _unrelated_train(inputs: ComparisonInput) -> DataWarning:
    config = inputs.config
    overlap = inputs.data.train_overlap(of_requests=config.of_requests)
    shares_items = overlap is not None and overlap.shares_items
    return unrelated_train_warning(config.settings, shares_items=shares_items)


def _run_checks(inputs: ComparisonInput, tables: AuditTables) -> Iterator[_CheckOutcome]:
    """Yield all checks with the ids of the affected users."""
    yield from _time_checks(inputs, tables)
    in_train = find_rows(tables, TRUTH_IN_TRAIN)
    warning = truth_in_train_warning(in_train.rows, in_train.of_rows, in_train.users)
    yield _check(in_train, tables, warning)
    yield _check_copies(tables, "item")
    yield _check_copies(tables, "user")
    cold_users = find_rows(tables, COLD_USERS)
    is_unrelated = cold_users.users == tables.n_users
    yield _check(
        cold_users,
        tables,
        _unrelated_train(inputs) if is_unrelated else "notice",
    )
    yield _check(find_rows(tables, COLD_ITEMS), tables, "notice")
    drift = measure_drift(tables)
    drift_rows = replace(find_rows(tables, POPULARITY_DRIFT), examples=drift.examples)
    check, affected = _check(drift_rows, tables, None)
    count = replace(
        check.count,
        severity="notice" if drift.exceeds_chance else None,
        bits=drift.bits,
        bits_by_chance=drift.mean_by_chance,
    )
    yield replace(check, count=count), affected


def _time_checks(inputs: ComparisonInput, tables: AuditTables) -> Iterator[_CheckOutcome]:
    if not tables.has_times:
        yield from map(_not_performed, _TIME_CHECKS)
        return
    before = find_rows(tables, TRUTH_BEFORE_TRAIN)
    settings, sign = inputs.config.settings, {"users": before.users}
    yield _check(before, tables, split_warning({before.name: sign}, settings))
    after = find_rows(tables, TRAIN_AFTER_TRUTH)
    check, affected = _check(after, tables, "notice")
    share = only_row(tables.connection, _TRAIN_SHARE_AFTER)[0] if after.rows else None
    yield replace(check, train_share_after=share), affected
    yield _check_future_items(inputs, tables)
    for kind in KINDS:
        rows = find_rows(tables, born_after_query(kind))
        names = ("rows", "of_rows", "users", "items")
        sign = {name: getattr(rows, name) for name in names}
        yield _check(rows, tables, split_warning({rows.name: sign}, settings))


def _check_future_items(inputs: ComparisonInput, tables: AuditTables) -> _CheckOutcome:
    k = inputs.config.main_cutoff
    at_k = {name: single.at_cutoff(k) for name, single in results_by_list(inputs.models).items()}
    if any(counts.get("future") is None for counts in at_k.values()):
        return _not_performed("future_items")
    rows = find_future_items(tables, k)
    if not rows.rows:
        return _check(rows, tables, None)
    shares = {
        name: counts["future"] / counts["shown"] for name, counts in at_k.items() if counts["shown"]
    }
    sign = {**largest_share(shares), "k": k}
    return _check(rows, tables, split_warning({rows.name: sign}, inputs.config.settings))


def _check_copies(tables: AuditTables, kind: Kind) -> _CheckOutcome:
    copies, pairs = find_copies(tables, kind)
    rows = find_rows(tables, copies_query(kind))
    if rows.rows:
        check, affected = _check(rows, tables, severity_of_rows(rows.rows, rows.of_rows))
    else:
        check, affected = _check(replace(rows, examples=pairs), tables, None)
        severity: Severity | None = "notice" if copies.n_ids else None
        check = replace(check, count=replace(check.count, severity=severity))
    return replace(check, copies=copies), affected


def _check(
    rows: CheckedRows, tables: AuditTables, reason: DataWarning | Severity | None
) -> _CheckOutcome:
    """Return a check with its affected users; the warning or severity applies if there are rows."""
    warning = reason if isinstance(reason, DataWarning) and rows.rows else None
    severity = reason.severity if isinstance(reason, DataWarning) else reason
    count = CheckCount(
        check=rows.name,
        is_performed=True,
        severity=severity if rows.rows else None,
        rows=rows.rows,
        of_rows=rows.of_rows,
        users=rows.users,
        of_users=tables.n_users,
        items=rows.items,
        of_items=rows.of_items,
    )
    return AuditCheck(count, rows.examples, warning), rows.affected


def _not_performed(name: str) -> _CheckOutcome:
    count = CheckCount(name, is_performed=False, severity=None)
    return AuditCheck(count), pl.Series([], dtype=pl.String)
