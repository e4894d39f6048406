"""`concord gate [REV]`: check the release gate; the exit code is the decision."""

import argparse

HELP = "check the release gate; the exit code is the decision"
REVISION = "commit, branch or tag to compare with, such as HEAD~1 (default: the baseline)"
EXIT_CODES = {"pass": 0, "worse": 1, "undecided": 3, "suspicious": 4}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("revision", nargs="?", help=REVISION)
    parser.add_argument("--json", action="store_true", help="print the whole decision as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the decision against the baseline or a revision; return its exit code."""
    from concord.metrics_core.errors import format_count, printable
    from concord.pipeline.dvc.current_results import load_comparison, warn_if_stale
    from concord.pipeline.dvc.gate import decide_gate
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import LOG, print_text
    from concord.pipeline.terminal import print_json
    from concord.reports.text.display_words import display_words

    params = read_params()
    comparison = load_comparison(params)
    result = decide_gate(params, comparison, arguments.revision)
    warn_if_stale(params)
    if prominent := [x for x in comparison.prominent if x not in result.decision.doubts]:
        codes = ", ".join(dict.fromkeys(each.code for each in prominent))
        count = format_count(len(prominent), "warning")
        LOG.warning("%s about these results (%s): see the report", count, codes)
    if arguments.json:
        print_json(result)
    else:
        show = display_words(comparison).show
        for sentence in (*result.decision.lines, *(f"note: {note}" for note in result.notes)):
            print_text(printable(show(sentence)))
    return EXIT_CODES[result.decision.outcome]
