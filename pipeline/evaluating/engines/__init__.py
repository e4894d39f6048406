"""Engines: each cuts the users into partitions and hands them to `metrics_core.scoring.partition`."""
