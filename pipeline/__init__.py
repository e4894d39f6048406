"""The stages and commands of Concord."""
