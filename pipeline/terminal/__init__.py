"""Arguments of the command line, and tables in the terminal."""
