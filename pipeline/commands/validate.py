"""`concord validate`: check params.yaml and every input file without evaluating."""

import argparse

HELP = "check params.yaml and every input file without evaluating"


def add_arguments(_: argparse.ArgumentParser) -> None: ...


def run(_: argparse.Namespace) -> None:
    """Print one line for each file; raise all problems at once."""
    from concord.pipeline.init.validation import validate

    validate()
