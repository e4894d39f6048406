"""Stage `report`: the comparison -> pages."""
