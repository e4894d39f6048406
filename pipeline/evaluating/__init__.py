"""Stage `evaluate`: lists and truth as loaded -> users' values and their summary."""
