"""Ten users whom the choice of the model concerns most, as text."""

from dataclasses import dataclass

from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Examples, ExampleUser, WantedItem
from concord.metrics_core.comparison.words import listed
from concord.reports.writing import numbers


@dataclass(frozen=True)
class Shown:
    """One user: `found` counts the relevant items in both lists; `wins` says whether the first model is better."""

    user: str
    values: str
    difference: str
    wins: bool
    known: str
    found_a: int
    found_b: int
    content: ExampleUser


def examples(comparison: Comparison) -> Examples | None:
    """The largest wins and losses of one model against another; None where there are none."""
    found = comparison.examples
    return found if found and found.users else None


def users(comparison: Comparison, found: Examples) -> list[Shown]:
    digits = numbers.difference_digits_of(comparison, found.label)
    upwards = comparison.metric(found.label).higher_is_better
    return [
        Shown(
            user=user.user,
            values=f"{numbers.number(user.value_a, digits)} against {numbers.number(user.value_b, digits)}",
            difference=numbers.signed(user.difference, digits),
            wins=(user.difference > 0) is upwards,
            known=_known(user.n_train),
            found_a=sum(item.relevant for item in user.list_a),
            found_b=sum(item.relevant for item in user.list_b),
            content=user,
        )
        for user in found.users
    ]


def grade(comparison: Comparison, item: WantedItem) -> str:
    """The grade; a metric with a threshold of its own may count what is below that of all others."""
    knobs = {knob.name: knob.value for knob in comparison.conventions.knobs}
    least = knobs.get("relevance_threshold")
    below = least is not None and item.grade < least
    said = f", below relevance_threshold: {least:g}" if below else ""
    return f"grade {item.grade:g}{said}"


def first_training(comparison: Comparison, found: Examples) -> str:
    """Whose lists are those of one training of several; empty where neither model was trained several times."""
    of = comparison.replicates.models if comparison.replicates else {}
    several = [model for model in (found.a, found.b) if model in of]
    if not several:
        return ""
    return (
        f"The lists of {listed(several)} are those of the first training; "
        "the values beside the users are means over all trainings."
    )


def _known(n: int | None) -> str:
    if n is None:
        return ""
    return "new to the train" if n == 0 else f"{n:,} interaction{'s' * (n > 1)} in the train"
