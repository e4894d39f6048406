"""Local Spark processes give the same bits and messages as one machine."""
