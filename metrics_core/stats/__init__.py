"""Statistics of per-user values: intervals, paired tests, multiple testing, replicates, power."""
