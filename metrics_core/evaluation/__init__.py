"""Evaluation of one model in memory, by ranges of users, or on Spark."""
