"""Loading: files as people left them -> checked tables. `pipeline/loading/load.py` and `load_truth.py` are the stages."""
