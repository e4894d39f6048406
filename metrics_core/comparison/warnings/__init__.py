"""Signs of a doubtful evaluation, each with what to do."""
