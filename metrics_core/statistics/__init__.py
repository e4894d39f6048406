"""Intervals, tests and verdicts on values of users."""
