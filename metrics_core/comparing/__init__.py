"""Values of several models on the same users -> one typed comparison: differences, segments, warnings, sentences."""
