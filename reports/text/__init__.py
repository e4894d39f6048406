"""Results as sentences and tables, for terminal, notebooks, Markdown and HTML pages."""
