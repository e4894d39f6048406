"""Models in groups of users or items."""
