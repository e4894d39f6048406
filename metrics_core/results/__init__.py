"""Results: what public functions return. Data only; `reports` turns them into text, tables and charts."""
