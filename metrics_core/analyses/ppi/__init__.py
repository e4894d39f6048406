"""`ppi`: means and differences from few human and many predicted grades."""
