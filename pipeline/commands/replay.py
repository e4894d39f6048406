"""`concord replay FILE`: compute a decision again from its values, or from its inputs."""

import argparse

from concord.pipeline.commands.parser import FilePath

HELP = "compute a decision again, and say what is verified"
EXIT_CODES = {"verified": 0, "different": 1, "inputs_not_seen": 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=FilePath, help="the decision, such as decision.concord")
    parser.add_argument(
        "--inputs", type=FilePath, metavar="DIR", help="folder with the files that were compared"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print what is verified; return 0 if all is, 3 without the inputs, 1 if anything differs."""
    from concord.metrics_core.decision.replay import replay
    from concord.pipeline.terminal import print_result

    result = replay(arguments.file, arguments.inputs)
    print_result(result, as_json=arguments.json)
    return EXIT_CODES[result.outcome]
