"""Planning: what so many users can settle, and how many it takes. `metrics_core/plan.py` is the door."""
