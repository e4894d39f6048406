"""Where files lie: on this machine, or in an object store that is read by ranges."""
