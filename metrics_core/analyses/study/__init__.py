"""`study`: models over several data sets."""
