"""How one number came about, and why two definitions differ."""
