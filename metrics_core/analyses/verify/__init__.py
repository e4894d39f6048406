"""`verify`: published means next to recomputed ones."""
