"""`judge`: which unjudged items to judge next, and what they can change."""
