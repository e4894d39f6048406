"""A plan as text: a block a metric, one line a model; then what the gate can decide."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparison.words import exact, one_line, percent
from concord.metrics_core.planning.parts import Plan, PlannedGuardrail, PlannedPair
from concord.metrics_core.planning.wording import hardest_first, place_of
from concord.pipeline.terminal.table import console, print_table
from concord.reports.writing.numbers import MISSING, count

NONE = "none"  # is enough
_LARGE = 1000  # from here on three digits are no whole number
MOST_GUARDRAILS = 20  # that are shown
_GUARDRAIL = ("guardrail", "hardest for", "margin", "users", "needed", "passes", "would do")


def print_plan(plan: Plan) -> None:
    """Each metric with its models; what the columns say; the gate."""
    out = console()
    groups: dict[tuple[str | None, str | None], list[PlannedPair]] = {}
    for pair in plan.pairs:
        groups.setdefault((pair.label, pair.segmentation), []).append(pair)
    for pairs in groups.values():
        if title := _title(pairs):
            out.print(title)
        _print_pairs(pairs)
        out.print()
    for line in _legend(plan):
        out.print(line)
    if plan.lines:
        out.print()
        if any(pair.seeds for pair in plan.pairs):
            out.print("The gate decides over users: other trainings are not in what follows.")
    for line in plan.lines:
        out.print(line)
    _print_gate(plan)


def _title(pairs: Sequence[PlannedPair]) -> str:
    """`nDCG@10 against popularity, 1,192 users`."""
    first = pairs[0]
    if first.label is None:
        return ""
    where = "" if first.segmentation is None else f" by {first.segmentation}"
    users = "" if _differ(pairs) else f", {in_words(first.n_users, 'user')}"
    return one_line(f"{first.label} against {first.baseline}{where}{users}")


def _differ(pairs: Sequence[PlannedPair]) -> bool:
    """Has not every pair the same users?"""
    return len({pair.n_users for pair in pairs}) > 1


def _print_pairs(pairs: Sequence[PlannedPair]) -> None:
    columns = [(name, cells) for name, cells in _columns(pairs) if any(cells)]
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    print_table([name for name, _ in columns], rows)


def _columns(pairs: Sequence[PlannedPair]) -> Iterator[tuple[str, list[str]]]:
    """Name -> cells; columns without any text are left out."""
    tests = max(pair.tests for pair in pairs)
    yield "segment", [pair.segment or "" for pair in pairs]
    yield "model", [pair.model or "" for pair in pairs]
    if pairs[0].label is None or _differ(pairs):
        yield "users", [f"{pair.n_users:,}" for pair in pairs]
    yield "seeds", ["" if pair.seeds is None else f"{pair.seeds}" for pair in pairs]
    yield "sd", [_number(pair.sd) for pair in pairs]
    yield "smallest", [_number(pair.smallest) for pair in pairs]
    yield f"of {tests:,}", [_number(x.smallest_corrected) if tests > 1 else "" for x in pairs]
    if any(pair.min_effect for pair in pairs):
        yield "better", [_number(pair.smallest_better) for pair in pairs]
    effects = {pair.effect for pair in pairs}
    if effects == {None}:
        return
    if len(effects) > 1:
        yield "effect", [_number(pair.effect) for pair in pairs]
    of_one = f" for {_effect(pairs[0])}" if len(effects) == 1 else " for effect"
    yield f"users{of_one}", [_users(pair, pair.users_needed) for pair in pairs]
    yield f"of {tests:,}", [_users(x, x.users_needed_corrected) if tests > 1 else "" for x in pairs]
    yield "better", [_better(pair) for pair in pairs]
    yield "equivalent", [_users(pair, pair.users_equivalent) for pair in pairs]
    yield f"seeds{of_one}", [_seeds(pair, pair.seeds_needed) for pair in pairs]
    yield f"of {tests:,}", [_seeds(x, x.seeds_needed_corrected) if tests > 1 else "" for x in pairs]


def _number(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:#.3g}".removesuffix(".") if value < _LARGE else f"{value:,.0f}"


def _effect(pair: PlannedPair) -> str:
    effect = pair.effect or 0.0
    return exact(effect) if effect < _LARGE else f"{effect:,.0f}"


def _users(pair: PlannedPair, needed: int | None) -> str:
    if pair.sd is None or pair.effect is None:
        return MISSING
    return NONE if needed is None else count(needed)


def _better(pair: PlannedPair) -> str:
    over = pair.effect is not None and pair.effect > pair.min_effect > 0
    return _users(pair, pair.users_better) if over else ""


def _seeds(pair: PlannedPair, needed: int | None) -> str:
    return "" if pair.seeds is None else _users(pair, needed)


def _legend(plan: Plan) -> Iterator[str]:
    level = f"{percent(plan.power)} power at the {percent(1 - plan.confidence)} level"
    yield f"smallest: the smallest true difference that these users find, with {level}."
    tests = sorted({pair.tests for pair in plan.pairs if pair.tests > 1})
    if tests:
        named = ", ".join(f"of {number:,}" for number in tests)
        yield f"{named}: corrected, as one of so many tests."
    if any(pair.min_effect for pair in plan.pairs):
        yield "better: called better, so found and surely larger than min_effect."
    if any(pair.effect for pair in plan.pairs):
        yield "users for: how many find it. equivalent: how many show that two models that are as good differ by less."
    if any(pair.sd is None for pair in plan.pairs):
        yield f"{MISSING}: nothing to plan with, as too few users differ, or the mean is pooled over users."
    yield from dict.fromkeys(_of_trainings(plan.pairs))


def _of_trainings(pairs: Sequence[PlannedPair]) -> Iterator[str]:
    """Where trainings alone vary too much for any number of users."""
    for pair in pairs:
        if pair.seeds is None or pair.effect is None:
            continue
        yield "seeds for: how many trainings of each model find it with these users."
        if pair.users_needed is None:
            yield f"No number of users finds {_effect(pair)} of {pair.model or 'a model'} with {in_words(pair.seeds, 'seed')}: trainings alone vary too much."
        if pair.seeds_needed is None:
            yield f"No number of seeds finds {_effect(pair)} of {pair.model or 'a model'} with {in_words(pair.n_users, 'user')}: users alone vary too much."


def _print_gate(plan: Plan) -> None:
    """Each guardrail that these users cannot show, with the model of which it is hardest."""
    open_ones = hardest_first([each for each in plan.guardrails if each.outlook != "shown"])
    if not open_ones:
        return
    hardest: dict[str, PlannedGuardrail] = {}
    for each in open_ones:
        hardest.setdefault(place_of(each), each)
    rows = [_guardrail(each) for each in hardest.values()]
    out = console()
    out.print()
    print_table(_GUARDRAIL, rows[:MOST_GUARDRAILS])
    if len(rows) > MOST_GUARDRAILS:
        out.print(f"… {len(rows) - MOST_GUARDRAILS:,} more")
    left = len({place_of(each) for each in plan.guardrails} - {*hardest})
    if left:
        out.print(f"These users can show {in_words(left, 'other guardrail')}.")


def _guardrail(found: PlannedGuardrail) -> tuple[str, ...]:
    if found.users_needed is not None:
        needed = count(found.users_needed)
    else:
        needed = MISSING if found.chance is None else NONE
    return (
        place_of(found),
        found.model,
        _number(found.margin),
        count(found.n_users),
        needed,
        MISSING if found.chance is None else percent(found.chance),
        _number(found.margin_shown),
    )
