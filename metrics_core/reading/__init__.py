"""Files and frames as they were left -> one checked table."""
