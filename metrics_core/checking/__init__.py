"""What every input goes through: a connection that reads nothing else, checks of rows, ids that meet, refusals in words."""
