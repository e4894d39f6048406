"""View of `study`: models over several data sets."""
