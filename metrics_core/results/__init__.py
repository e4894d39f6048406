"""Results of public functions. Data only; `reports` renders them as text, tables and charts."""
