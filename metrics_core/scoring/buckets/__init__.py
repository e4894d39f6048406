"""Buckets of whole users on Spark: each is evaluated in a worker, and what they give adds up to the bits of one machine."""
