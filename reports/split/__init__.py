"""View of `split`: training data and ground truth from interactions."""
