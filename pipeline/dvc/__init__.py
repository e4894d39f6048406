"""DVC and git: dvc.lock, revisions, and what has changed since."""
