"""Input tables: open, read, validate and rank them, match their ids, compute content hashes."""
