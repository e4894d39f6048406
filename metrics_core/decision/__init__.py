"""A comparison in one file that can be replayed: its values, options and results, without ids."""
