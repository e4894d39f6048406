"""Results as sentences and tables: one module per result, read by the terminal, notebooks and Markdown."""
