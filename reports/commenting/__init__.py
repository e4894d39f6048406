"""The comment in a pull request."""
