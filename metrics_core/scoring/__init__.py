"""Relations in, values out: judge the lists, score every label, a partition of users at a time."""
