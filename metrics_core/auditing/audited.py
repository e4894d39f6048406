"""Evidence in, an Audit out: every check, what it means and what it weighs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from concord.metrics_core.auditing import wording
from concord.metrics_core.auditing.checks import (
    COLD,
    TIMED,
    TRUTH_IN_TRAIN,
    Check,
    Seen,
    future_items,
    seen,
)
from concord.metrics_core.auditing.copies import ITEM_COPIES, USER_COPIES, Kind, find_copies
from concord.metrics_core.auditing.drift import RISEN, drift
from concord.metrics_core.auditing.parts import Audit, Count, Finding
from concord.metrics_core.auditing.tables import Tables, opened
from concord.metrics_core.auditing.weighing import Flags, effects, turns
from concord.metrics_core.auditing.wording import NOTHING, SOURCES, Said
from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.comparing.evidence.evaluated import lists_of
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.provenance import conventions
from concord.metrics_core.comparing.warnings.data import unrelated_train
from concord.metrics_core.comparing.warnings.lists import future_items as warned_future
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.catalogue import Label, is_pooled
from concord.metrics_core.scoring.score import mean_weight

_LATER = """SELECT count(*) FILTER (last > (SELECT quantile_disc(began, 0.5) FROM begins)) / count(*) FROM train"""
_UNTIMED = "train and truth do not both have times"


def refuse_requests(pinned: Conventions) -> None:
    """Raises an InputError where values are of requests."""
    if pinned.unit_mean is not None:
        what = "these are requests, and an audit looks for the users of the truth in train"
        raise refuse("conventions: unit_mean", what, "evaluate the lists of users, without a unit, to audit their split")  # fmt: skip


def audited(evidence: Evidence, *, times: str) -> Audit:
    """Everything that can be said of the split.

    Parameters
    ----------
    evidence : with a train
    times    : how the times of train and truth are given
    """
    asked = evidence.asked
    with opened(evidence.models, evidence.ground) as tables:
        found = [*_Checks(evidence, tables, times).made()]
    users = evidence.aligned.users.cast(pl.String)
    touched = {
        each.name: users.is_in(ids.implode()).to_numpy()
        for each, ids in found
        if each.count.severity is not None
    }
    told = _weighed([each for each, _ in found], evidence, touched)
    pooled = [str(each) for each in asked.of_primary if _one_ratio(each, asked.conventions)]
    return Audit(
        models=tuple(evidence.models),
        primary=tuple(asked.primary),
        confidence=asked.confidence,
        n_users=len(users),
        findings=tuple(told),
        notes=(*wording.NOTES, *map(wording.pooled, pooled)),
        conventions=conventions(asked),
    )


def _weighed(
    findings: Sequence[Finding], evidence: Evidence, touched: Mapping[str, Flags]
) -> list[Finding]:
    """The findings with what their users weigh; the values of a label are read once."""
    asked, told = evidence.asked, {each.name: each for each in findings}
    for label in asked.of_primary:
        if _one_ratio(label, asked.conventions):
            continue
        text, own = str(label), label.conventions(asked.conventions)
        values = evidence.aligned.values(text, own.undefined)
        for name, flags in touched.items():
            if not flags.any():
                continue
            moved = tuple(effects(name, text, values, flags, asked.confidence))
            turned = tuple(turns(name, text, values, flags, asked.confidence))
            sentence = wording.weighed(
                text,
                moved,
                turned,
                higher_is_better=label.metric.higher_is_better,
                confidence=asked.confidence,
            )
            each = told[name]
            told[name] = replace(
                each,
                weighs=(*each.weighs, sentence),
                effects=(*each.effects, *moved),
                turns=(*each.turns, *turned),
            )
    return list(told.values())


def _one_ratio(label: Label, pinned: Conventions) -> bool:
    """Is the mean no plain mean of users' values?"""
    return is_pooled(label, pinned) or mean_weight(label, pinned) is not None


@dataclass(frozen=True)
class _Checks:
    """All checks of some tables; each gives its finding and the touched users."""

    evidence: Evidence
    tables: Tables
    times: str

    def made(self) -> Iterator[tuple[Finding, pl.Series]]:
        """Every check; those that could not be made touch nobody."""
        before, after, items_born, users_born = TIMED
        yield self._timed(before, wording.before_train)
        yield self._timed(after, self._learned)
        yield self._future()
        yield self._timed(items_born, lambda it: wording.born_after(it, "item"))
        yield self._timed(users_born, lambda it: wording.born_after(it, "user"))
        yield self._told(seen(self.tables, TRUTH_IN_TRAIN), wording.in_train)
        yield self._copied(ITEM_COPIES, "item")
        yield self._copied(USER_COPIES, "user")
        cold_users, cold_items = COLD
        yield self._told(seen(self.tables, cold_users), self._strangers)
        yield self._told(seen(self.tables, cold_items), wording.cold_items)
        yield self._drifted()

    def _told(self, it: Seen, said: Callable[[Seen], Said]) -> tuple[Finding, pl.Series]:
        return self._finding(it, said(it) if it.rows else NOTHING)

    def _timed(self, check: Check, said: Callable[[Seen], Said]) -> tuple[Finding, pl.Series]:
        if not self.tables.timed:
            return _not_made(check.name, _UNTIMED, self.times)
        return self._told(seen(self.tables, check), said)

    def _future(self) -> tuple[Finding, pl.Series]:
        asked = self.evidence.asked
        at_k = {
            name: single.at_cutoff(asked.main_k)
            for name, single in lists_of(self.evidence.models).items()
        }
        if any(found.get("future") is None for found in at_k.values()):
            return _not_made("future_items", _UNTIMED, self.times)
        shares = {name: each["future"] / each["shown"] for name, each in at_k.items() if each["shown"]}  # fmt: skip
        return self._told(
            future_items(self.tables, asked.main_k),
            lambda _: wording.of_warning(warned_future(shares, asked.main_k)),
        )

    def _copied(self, check: Check, kind: Kind) -> tuple[Finding, pl.Series]:
        copies = find_copies(self.tables, kind)
        it = seen(self.tables, check)
        if not it.rows:
            it = replace(it, examples=copies.examples)
        return self._finding(it, wording.copied(it, copies, kind))

    def _learned(self, it: Seen) -> Said:
        return wording.after_truth(it, only_row(self.tables.connection, _LATER)[0])

    def _strangers(self, it: Seen) -> Said:
        if len(it.touched) == self.tables.users:
            return wording.of_warning(unrelated_train(self.evidence.asked.settings))
        return wording.cold_users(it, self.tables.users)

    def _drifted(self) -> tuple[Finding, pl.Series]:
        found = drift(self.tables)
        it = replace(seen(self.tables, RISEN), examples=found.examples)
        finding, touched = self._finding(it, wording.drifted(it, found))
        return replace(finding, count=replace(finding.count, bits=found.bits, bits_by_chance=found.mean_by_chance)), touched  # fmt: skip

    def _finding(self, it: Seen, said: Said) -> tuple[Finding, pl.Series]:
        count = Count(
            check=it.name,
            made=True,
            severity=said.severity,
            rows=it.rows,
            of_rows=it.of_rows,
            users=len(it.touched),
            of_users=self.tables.users,
            items=it.items,
            of_items=it.of_items,
        )
        return Finding(count, said.sentence, said.fix, SOURCES[it.name], it.examples), it.touched


def _not_made(name: str, why: str, fix: str) -> tuple[Finding, pl.Series]:
    said = wording.not_made(why, fix)
    finding = Finding(Count(name, made=False, severity=None), said.sentence, said.fix, SOURCES[name])  # fmt: skip
    return finding, pl.Series([], dtype=pl.String)
