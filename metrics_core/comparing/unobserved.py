"""Users of whom nothing was observed: under a propensity all models must be evaluated on the same ones."""

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.comparing.evidence.evaluated import lists_of
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.warnings.users import unit_word
from concord.metrics_core.comparison.words import listed
from concord.metrics_core.scoring.score import is_weighed_sum, names_users


def refuse_other_users(evidence: Evidence) -> None:
    """Refuse models whose lists add different users to those of the truth, where means of weighed sums count them.

    Raises
    ------
    InputError : the models, and how to say who is evaluated
    """
    asked, pinned = evidence.asked, evidence.asked.conventions
    named = evidence.ground.users is not None and names_users(pinned)
    if pinned.propensity is None or named or not _sums(evidence):
        return
    users: dict[str, dict[str, list[str]]] = {}
    for name, each in lists_of(evidence.models).items():
        of_fold = users.setdefault(each.quality.get("fold", ""), {})
        of_fold.setdefault(each.summary["propensity"]["only_in_lists"], []).append(name)
    for of_fold in users.values():
        if len(of_fold) > 1:
            (one, *_), (other, *_) = list(of_fold.values())[:2]
            whose = unit_word(pinned)
            what = (
                f"{one} and {other} have lists for different {whose}s of whom nothing was observed, and under a propensity "
                f"these count 0 in means of {listed(_sums(evidence))}"
            )
            give = f"{asked.settings.lacking('users')[1]}, or " if names_users(pinned) else ""
            fix = f"{give}give both models lists for the same {whose}s"
            raise refuse("conventions: propensity", what, fix)


def _sums(evidence: Evidence) -> list[str]:
    """The labels that count users without an observed item, whether these have a list or not."""
    pinned = evidence.asked.conventions
    found = [(label, label.conventions(pinned)) for label in evidence.asked.labels]
    return [
        str(label)
        for label, own in found
        if is_weighed_sum(label, own) and own.user_no_recs != "drop"
    ]
