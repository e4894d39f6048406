"""View of `explain`: the derivation of one user's value."""
