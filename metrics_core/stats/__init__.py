"""Statistics of per-user values: intervals, paired tests, adjustment, replicates, power, tests over data sets."""
