"""DVC and git: dvc.lock, revisions, and changes since them."""
