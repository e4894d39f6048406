"""`check_metric`: properties that a user's own metric should have."""
