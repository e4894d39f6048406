"""What a comparison is: its types, their JSON, their tables. Computed above, read by whoever shows it."""
