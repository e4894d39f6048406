"""params.yaml: schema, validation, and the line of each key."""
