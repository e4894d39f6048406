"""Evaluation of one model: per-user values and summaries, in memory, by ranges of users, or on Spark."""
