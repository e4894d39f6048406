"""The stages and commands of Concord."""

import sys

if sys.argv[0] == "-m":  # `python -m pipeline.<stage>`, before imports that take a second
    from pipeline.running.lifetime import begin

    begin()
