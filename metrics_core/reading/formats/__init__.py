"""Whatever form a table has (a file, a frame, a dict) -> one relation with our columns."""
