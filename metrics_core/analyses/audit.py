"""`audit`: whether a split leaks, what is cold, and what the affected users contribute to the means."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from concord.metrics_core.analyses.audit_checks import (
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
from concord.metrics_core.analyses.audit_effects import (
    RISEN,
    Flags,
    find_reversals,
    leave_out_effects,
    measure_drift,
)
from concord.metrics_core.comparison.arguments import parse_list_arguments
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.model_tables import evaluate_models
from concord.metrics_core.comparison.provenance import conventions as pinned_conventions
from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.arguments import Columns
from concord.metrics_core.data.frames import Data
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.model_result import lists_of
from concord.metrics_core.evaluation.score import mean_weight
from concord.metrics_core.evaluation.warnings.data import (
    born_after_warning,
    severity_of_rows,
    truth_before_train_warning,
    truth_in_train_warning,
    unrelated_train_warning,
)
from concord.metrics_core.evaluation.warnings.lists import future_items_warning
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.results.audit import Audit, AuditCheck, CheckCount
from concord.metrics_core.results.comparison_parts import DataWarning, Severity

_TIMES_FIX = "name their columns: `columns={'truth': {'time': …}, 'train': {'time': …}}`"
_TRAIN_SHARE_AFTER = """
SELECT count(*) FILTER (last > (SELECT quantile_disc(began, 0.5) FROM begins)) / count(*) FROM train
"""
_TIME_CHECKS = (
    "truth_before_train",
    "train_after_truth",
    "future_items",
    "items_born_after",
    "users_born_after",
)
# A check, and the ids of the users that it affects.
Checked = tuple[AuditCheck, pl.Series]


def audit(
    models: Mapping[str, Data | Mapping[str, Mapping[Any, Data]]],
    truth: Data | Mapping[str, Mapping[Any, Data]],
    *,
    train: Data,
    metrics: Sequence[str],
    conventions: ConventionsLike,
    items: Data | None = None,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
) -> Audit:
    """Check whether the truth leaks into train and what is cold, and compute the means without the affected users.

    Each check counts the rows, users and items that it affects. `concord audit` does the same for a project.

    Parameters
    ----------
    models, truth, items, columns, input
        As for `compare`; the time of the truth is read if `columns` names it. Copies are found by `title` and `vector`
        of the items.
    train : path, frame or dict
        What the models learned from: `user`, `item` and, optionally, `time`.
    metrics : list of str
        Labels such as "nDCG@10", each with a value per user; lists are checked up to the first cutoff.
    conventions : Conventions, str or dict
        `concord.preset(name)`, the name of a preset, or a dict.
    confidence : float, default=0.95
        Of all intervals.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        An argument or a row of a table is invalid.

    References
    ----------
    Meng, McCreadie, Macdonald & Ounis (2020), RecSys, 681-686.  doi:10.1145/3383313.3418479
    Ji, Sun, Zhang & Li (2023), ACM TOIS 41(3), 75.  doi:10.1145/3569930
    Sun (2023), SIGIR.  doi:10.1145/3539618.3591931
    Hidasi & Czapp (2023), RecSys.  arXiv:2307.14951
    Gusak, Volodkevich, Klenitskiy, Vasilev & Frolov (2025), RecSys.  arXiv:2507.16289
    Kaufman, Rosset, Perlich & Stitelman (2012), ACM TKDD 6(4), 15.  doi:10.1145/2382577.2382579
    """
    tables = {"train": train, "items": items, "users": None}
    parsed = parse_list_arguments(
        models,
        truth,
        metrics=metrics,
        conventions=conventions,
        tables=tables,
        columns=columns,
        unit=None,
    )
    parsed.parse(refuse_unit, parsed.conventions, default=None)
    config = ComparisonConfig(
        labels=parsed.report_labels,
        ks=parsed.ks,
        conventions=parsed.conventions,
        baseline=next(iter(parsed.models), ""),
        primary=parsed.names,
        title="Audit",
        confidence=confidence,
        replicates=parsed.replicates,
        paired_replicates=bool(parsed.folds),
    ).validated(
        parsed.models,
        lists=parsed.lists,
        folds=parsed.folds,
        problems=parsed.problems,
        arguments={"primary": "metrics"},
    )
    results, data = evaluate_models(
        config, parsed.lists, parsed.truths, tables, columns=columns, input=input
    )
    inputs = ComparisonInput(config, with_replicates(results, config), data)
    return audit_evaluations(inputs, times_fix=_TIMES_FIX)


def refuse_unit(conventions: Conventions) -> None:
    """Raise an InputError if the unit of evaluation is a request."""
    if conventions.unit_mean is not None:
        raise refuse(
            ("conventions", "unit_mean"),
            "these are requests, and an audit looks for the users of the truth in train",
            "evaluate the lists of users, without a unit, to audit their split",
        )


def audit_evaluations(inputs: ComparisonInput, *, times_fix: str) -> Audit:
    """Return the audit of models that are evaluated already, with a train.

    Parameters
    ----------
    times_fix : str
        How to give times to train and truth.
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
        conventions=pinned_conventions(config),
    )


def _is_ratio(label: Label, conventions: Conventions) -> bool:
    """True if the mean is one ratio over all users, not the plain mean of users' values."""
    return is_pooled(label, conventions) or mean_weight(label, conventions) is not None


def _with_effects(
    checks: Sequence[AuditCheck],
    labels: Sequence[Label],
    inputs: ComparisonInput,
    affected: Mapping[str, Flags],
) -> Iterable[AuditCheck]:
    """Return the checks with the effects of leaving affected users out; the values of a label are read once."""
    config, by_name = inputs.config, {check.name: check for check in checks}
    for label in labels:
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


def _run_checks(inputs: ComparisonInput, tables: AuditTables) -> Iterator[Checked]:
    """Yield every check with the users that it affects; none if the check is not made."""
    yield from _time_checks(inputs, tables)
    known = find_rows(tables, TRUTH_IN_TRAIN)
    yield _check(known, tables, truth_in_train_warning(known.rows, known.of_rows, known.users))
    yield _check_copies(tables, "item")
    yield _check_copies(tables, "user")
    cold_users = find_rows(tables, COLD_USERS)
    is_unrelated = cold_users.users == tables.n_users
    yield _check(
        cold_users,
        tables,
        unrelated_train_warning(inputs.config.settings) if is_unrelated else "notice",
    )
    yield _check(find_rows(tables, COLD_ITEMS), tables, "notice")
    drift = measure_drift(tables)
    risen = replace(find_rows(tables, RISEN), examples=drift.examples)
    check, affected = _check(risen, tables, None)
    count = replace(
        check.count,
        severity="notice" if drift.exceeds_chance else None,
        bits=drift.bits,
        bits_by_chance=drift.mean_by_chance,
    )
    yield replace(check, count=count), affected


def _time_checks(inputs: ComparisonInput, tables: AuditTables) -> Iterator[Checked]:
    if not tables.has_times:
        yield from map(_not_made, _TIME_CHECKS)
        return
    before = find_rows(tables, TRUTH_BEFORE_TRAIN)
    yield _check(before, tables, truth_before_train_warning(before.users))
    after = find_rows(tables, TRAIN_AFTER_TRUTH)
    check, affected = _check(after, tables, "notice")
    share = only_row(tables.connection, _TRAIN_SHARE_AFTER)[0] if after.rows else None
    yield replace(check, train_share_after=share), affected
    yield _check_future_items(inputs, tables)
    for kind in KINDS:
        born = find_rows(tables, born_after_query(kind))
        warning = born_after_warning(
            kind, born.rows, born.of_rows, users=born.users, items=born.items
        )
        yield _check(born, tables, warning)


def _check_future_items(inputs: ComparisonInput, tables: AuditTables) -> Checked:
    k = inputs.config.main_cutoff
    at_k = {name: single.at_cutoff(k) for name, single in lists_of(inputs.models).items()}
    if any(counts.get("future") is None for counts in at_k.values()):
        return _not_made("future_items")
    rows = find_future_items(tables, k)
    if not rows.rows:
        return _check(rows, tables, None)
    shares = {
        name: counts["future"] / counts["shown"] for name, counts in at_k.items() if counts["shown"]
    }
    return _check(rows, tables, future_items_warning(shares, k))


def _check_copies(tables: AuditTables, kind: Kind) -> Checked:
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
) -> Checked:
    """Return a check and the affected users; the reason, a warning or a severity, holds if there are rows."""
    warning = reason if isinstance(reason, DataWarning) and rows.rows else None
    severity = reason.severity if isinstance(reason, DataWarning) else reason
    count = CheckCount(
        check=rows.name,
        made=True,
        severity=severity if rows.rows else None,
        rows=rows.rows,
        of_rows=rows.of_rows,
        users=rows.users,
        of_users=tables.n_users,
        items=rows.items,
        of_items=rows.of_items,
    )
    return AuditCheck(count, rows.examples, warning), rows.affected


def _not_made(name: str) -> Checked:
    count = CheckCount(name, made=False, severity=None)
    return AuditCheck(count), pl.Series([], dtype=pl.String)
