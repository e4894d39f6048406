"""The replay of a decision as text."""
