"""View of `cases`: example users and items behind the difference of two models."""
