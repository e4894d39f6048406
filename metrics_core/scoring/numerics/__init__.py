"""Numbers with the same bits on every machine: exact sums, and quantiles of Student's t."""
