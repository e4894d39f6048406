"""What stands in each section of the page, as rows of text."""
