"""`mc.explain` derives what `mc.evaluate` computes, in the arithmetic of the worked examples."""

import math

import pytest

import metrics_core as mc
from metrics_core.catalogue import CATALOGUE

LISTS = {"U1": [1, 6, 8], "U2": [1, 2, 3, 4, 5], "U3": [], "U4": [1, 2, 3, 4], "U5": []}
TRUTH = {"U1": [1, 2, 3, 4, 5, 6], "U2": [2, 4, 6], "U3": [2, 4, 6], "U4": [], "U5": []}
LABELS = [f"{m.name}(p=0.8)" if m.parameters else m.name for m in CATALOGUE]
CUT = [f"{label}@3" for label in LABELS if label != "Rprec"]


@pytest.mark.parametrize("label", [*LABELS, *CUT])
@pytest.mark.parametrize("user", LISTS)
def test_the_derived_value_is_the_evaluated_value(user: str, label: str) -> None:
    bellei = mc.preset("bellei")
    values = mc.evaluate(LISTS, TRUTH, metrics=[label], conventions=bellei).per_user
    expected = values.filter(values["user"] == user)[label][0]

    derived = mc.explain(LISTS, TRUTH, user=user, metric=label, conventions=bellei)

    assert derived.value is not None
    assert derived.value == expected or (math.isnan(derived.value) and math.isnan(expected))
    assert derived.lines[0] == f"{label} of user {user!r}"
    assert derived.lines[-1] == f"{label} = {expected:.6g}"


def test_average_precision_is_derived_as_on_paper(capsys: pytest.CaptureFixture[str]) -> None:
    mc.explain(LISTS, TRUTH, user="U2", metric="AP@5", conventions=mc.preset("bellei"))

    assert capsys.readouterr().out == (
        "AP@5 of user 'U2'\n"
        "relevant: grade >= 1; 3 relevant item(s) in the truth, 5 in the list\n"
        "  rank 1: 1\n"
        "  rank 2: 2, grade 1: hit\n"
        "  rank 3: 3\n"
        "  rank 4: 4, grade 1: hit\n"
        "  rank 5: 5\n"
        "2 hit(s) at rank(s) 2, 4\n"
        "AP = (1/2 + 2/4) / 2  (divided by hits)\n"
        "AP@5 = 0.5\n"
    )


def test_a_policy_is_named_where_it_stands_for_the_formula() -> None:
    derived = mc.explain(LISTS, TRUTH, user="U3", metric="P@5", conventions=mc.preset("bellei"))

    assert "user_no_recs: zero" in derived.lines


def test_integer_users_are_found_by_their_text() -> None:
    derived = mc.explain(
        {7: [1, 2]}, {7: [2]}, user="7", metric="RR", conventions=mc.preset("standard")
    )

    assert derived.value == 1 / 2


def test_an_unknown_user_is_refused() -> None:
    with pytest.raises(ValueError, match="user 'nobody' is neither in the lists nor in the truth"):
        mc.explain(LISTS, TRUTH, user="nobody", metric="P@5", conventions=mc.preset("bellei"))
