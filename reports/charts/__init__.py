"""The pictures: each takes the comparison and gives an SVG."""
