"""Spark processes of this machine: the bits and the words of one machine."""
