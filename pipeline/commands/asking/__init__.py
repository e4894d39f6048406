"""Commands that answer a question: how a number came about, what differs, who leads."""
