"""The cases behind a number: users and items for which two lists differ, and how alike the lists are."""
