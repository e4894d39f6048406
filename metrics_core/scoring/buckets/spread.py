"""A key for each bucket, such that Spark's hash partitioning puts no two buckets into one task."""

from itertools import count

_BITS = 0xFFFFFFFF
_SEED = 42  # of Spark's `hash`


def partition_keys(buckets: int) -> list[int]:
    """32-bit keys: that of place n is hashed into partition n of as many partitions as there are buckets.

    Buckets by their plain number would meet: of two, Spark hashes both into the second partition.
    """
    keys: dict[int, int] = {}
    for key in count():
        keys.setdefault(spark_hash(key) % buckets, key)
        if len(keys) == buckets:
            return [keys[partition] for partition in range(buckets)]
    raise AssertionError


def spark_hash(number: int) -> int:
    """Spark's `hash` of a 32-bit integer: MurmurHash3 (x86, 32 bits), signed."""
    mixed = _turned(number * 0xCC9E2D51, 15) * 0x1B873593
    found = (_turned(_SEED ^ (mixed & _BITS), 13) * 5 + 0xE6546B64) & _BITS
    found ^= 4  # bytes
    found = ((found ^ (found >> 16)) * 0x85EBCA6B) & _BITS
    found = ((found ^ (found >> 13)) * 0xC2B2AE35) & _BITS
    found ^= found >> 16
    return found - (1 << 32) if found >> 31 else found


def _turned(number: int, bits: int) -> int:
    number &= _BITS
    return ((number << bits) | (number >> (32 - bits))) & _BITS
