"""Analyses of evaluations and comparisons: one module per public function."""
