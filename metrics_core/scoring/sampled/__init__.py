"""Ranks among sampled candidates: what they say of a metric of the full rank, and what they leave open."""
