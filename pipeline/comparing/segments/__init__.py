"""For whom is it better? Users and items in groups: their values, differences and flags. `rows.py` is the way in."""
