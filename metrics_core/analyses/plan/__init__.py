"""`plan`: users and seeds that a comparison or a gate needs."""
