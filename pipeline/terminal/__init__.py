"""What all commands share: words of the command line, and how tables are printed."""
