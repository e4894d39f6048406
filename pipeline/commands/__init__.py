"""Commands of `concord`; each is imported when it runs."""
