"""Files that chance has broken: refused in words, or read rightly. `benchmarks/fuzz_readers.py` tries more of them."""

from collections import Counter

import pytest

from benchmarks.fuzz_readers import outcomes

pytestmark = pytest.mark.whole

CASES = 240


def test_whatever_bytes_come_there_are_words_or_the_right_answer() -> None:
    found = list(outcomes(1_000_000, CASES))
    counts = Counter(kind for kind, _, _ in found)

    assert [each for each in found if each[0] not in {"refused", "right", "unchecked"}] == []
    assert counts.total() == CASES
    assert min(counts["refused"], counts["right"]) > CASES / 10
