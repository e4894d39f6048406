"""Processes of stages and commands: connections, outputs, messages, signals and errors."""
