"""params.yaml: its shape, its checks, its lines."""
