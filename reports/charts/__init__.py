"""Charts: each module renders results as inline SVG."""
