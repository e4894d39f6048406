"""The files of a table: found, opened, and whole."""
