"""How numbers and verdicts are written."""
