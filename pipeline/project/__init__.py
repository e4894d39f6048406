"""A project of Concord in somebody's DVC repository: what is found there, and the files that are written."""
