"""Why users of blocks are not scored, merged to what all users together would meet."""

from collections.abc import Iterable
from dataclasses import replace

from concord.metrics_core.errors import (
    AffectedRows,
    InputError,
    Problem,
    Refusal,
    ScoringError,
    merge_refusals,
)

Failure = Refusal | tuple[Problem, ...]  # of the conventions, or of a user-defined metric


def raise_failures(failures: Iterable[Failure]) -> None:
    """Raise an error if users of any block were not scored.

    Raises
    ------
    InputError
        If a user-defined metric fails.
    ScoringError
        If the conventions refuse users.
    """
    all_failures = list(failures)
    if problems := [
        each for failure in all_failures if isinstance(failure, tuple) for each in failure
    ]:
        raise InputError(merge_problems(problems))
    if refusals := [each for each in all_failures if isinstance(each, Refusal)]:
        raise ScoringError(merge_refusals(refusals))


def merge_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of a table, merged from those of its blocks."""
    every = list(problems)
    affecting = [(each.affected, each) for each in every if each.affected is not None]
    unread = [(a.first, each) for a, each in affecting if a.rule == (-1,)]
    if unread:  # the rest of the table was not checked
        return [each for _, each in sorted(unread, key=lambda row: row[0])]
    of_rule: dict[tuple[int, ...], list[tuple[AffectedRows, Problem]]] = {}
    for affected, each in affecting:
        of_rule.setdefault(affected.rule, []).append((affected, each))
    summed = [_merge_affected(of_rule[rule]) for rule in sorted(of_rule)]
    return [*summed, *dict.fromkeys(each for each in every if each.affected is None)]


def _merge_affected(affected_problems: list[tuple[AffectedRows, Problem]]) -> Problem:
    affected, problem = min(affected_problems, key=lambda row: row[0].first)
    rows, users = (
        None if number is None else sum(getattr(each, name) for each, _ in affected_problems)
        for name, number in (("rows", affected.rows), ("users", affected.users))
    )
    whole = replace(affected, rows=rows, users=users)
    return replace(problem, message=whole.message_with_counts, affected=whole)
