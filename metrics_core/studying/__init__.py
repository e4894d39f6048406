"""Studies: several comparisons of the same models, each on a data set of its own, side by side."""
