"""How a stage lives: alone, as long as its parent, until it ends with one clear line."""
