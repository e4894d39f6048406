"""The project at another revision, and what has changed since."""
