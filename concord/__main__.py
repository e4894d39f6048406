"""`python -m concord`, the same as `concord`."""

from concord.pipeline.commands.cli import main

main()
