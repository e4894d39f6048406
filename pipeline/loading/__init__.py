"""Loading: files as people left them -> checked tables. `pipeline/load.py` and `load_truth.py` are the stages."""
