"""`concord comment [REV]`: comment of a pull request as Markdown; exit codes as `gate`."""

import argparse
from dataclasses import replace

from concord.pipeline.commands.gate import EXIT_CODES, REVISION
from concord.pipeline.commands.parser import FilePath, add_force

HELP = "write the comment of a pull request as Markdown"
NO_DECISION = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("revision", nargs="?", help=REVISION)
    parser.add_argument(
        "--output", type=FilePath, metavar="FILE", help="write to this file and print the decision"
    )
    parser.add_argument("--commit", metavar="SHA", help="commit to name in the last line")
    parser.add_argument(
        "--report", type=_web_address, metavar="URL", help="address of the report, to link to"
    )
    parser.add_argument(
        "--undecided",
        choices=("pass", "fail"),
        metavar="pass | fail",
        help="result if guardrails are undecided (default: `gate.undecided`)",
    )
    add_force(parser)


def _web_address(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        message = f"{text!r} is not a web address: write it with https://"
        raise argparse.ArgumentTypeError(message)
    return text


def run(arguments: argparse.Namespace) -> int:
    """Write the comment; return the exit code of the gate, or 0 without a gate."""
    from concord.metrics_core.errors import printable
    from concord.pipeline.dvc.comment import comment_content, short_hash
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import print_text
    from concord.pipeline.terminal import refuse_folder, write_output
    from concord.reports.comment import render_comment
    from concord.reports.text.display_words import display_words

    refuse_folder("--output", arguments.output)
    params = read_params()
    content = comment_content(params, arguments.revision, arguments.undecided)
    commit = arguments.commit and short_hash(arguments.commit)
    text = render_comment(replace(content, commit=commit, report=arguments.report))
    if arguments.output is None:
        print_text(text.removesuffix("\n"))
    else:
        write_output("--output", arguments.output, text, force=arguments.force)
        lines = content.decision.lines if content.decision else ()
        show = display_words(content.comparison).show
        for line in content.no_decision or lines:
            print_text(printable(show(line)))
    if params.gate is None:
        return 0
    return NO_DECISION if content.decision is None else EXIT_CODES[content.decision.outcome]
