"""The report of a study: several data sets, one page."""
