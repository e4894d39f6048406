"""What no value may be, and what a policy puts right."""
