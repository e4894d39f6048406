"""Every row of docs/reference/robustness.md has a test, and every marked test a row."""

from docs.robustness_rows import BAD_INPUTS, FAULTS, collected


def test_every_row_has_a_test_and_every_marked_test_a_row() -> None:
    shown = collected()

    assert {row for row, _, _ in shown["bad_input"]} == set(BAD_INPUTS)
    assert {row for row, _, _ in shown["fault"]} == set(FAULTS)
    assert set(range(1, 57)) <= set(BAD_INPUTS)
    assert set(FAULTS) == set(range(1, 25))
    assert all(behaviour for rows in shown.values() for _, _, behaviour in rows)
