"""Input tables: opened, read, validated, ids matched, lists ranked; and what identifies their content."""
