"""Evaluation of Spark DataFrames: buckets of whole users, each evaluated in a worker."""
