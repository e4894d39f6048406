"""Signs of a doubtful evaluation, told from the tables and counts alone, each with what to do."""
