"""Lists and truth as Spark DataFrames: whole users in buckets, each evaluated as on one machine, what they give added up."""
