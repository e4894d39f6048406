"""What the commands of `concord` do; each is imported when it runs."""
