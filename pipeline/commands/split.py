"""`concord split INTERACTIONS --how METHOD --into DIR`: training set, ground truth, manifest."""

import argparse

HELP = "split interactions into training set and ground truth"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "interactions",
        metavar="INTERACTIONS",
        help="table of user, item, time and optionally grade",
    )
    add(
        "--how",
        dest="method",
        required=True,
        metavar="METHOD",
        help="leave-last-out, global-time, users or cold-items",
    )
    add("--into", required=True, metavar="DIR", help="folder to write")
    add(
        "--last",
        type=int,
        metavar="N",
        help="leave-last-out, users: number of last interactions per user in the ground truth "
        "(default: 1)",
    )
    add(
        "--at",
        metavar="TIME",
        help="global-time: start of the ground truth, such as 2026-05-30 or a number in the unit "
        "of the times",
    )
    add(
        "--share",
        type=float,
        metavar="X",
        help="global-time: share of interactions, instead of --at; users, cold-items: chance that "
        "a user or item is held out; with --newest: share of items",
    )
    add(
        "--gap",
        metavar="SPAN",
        help="global-time: time left out before the ground truth, such as 12h, 7d or a number in "
        "the unit of the times",
    )
    add(
        "--newest",
        action="store_true",
        default=None,
        help="cold-items: hold out the newest items instead of a random choice",
    )
    add("--seed", type=int, metavar="N", help="users, cold-items: random seed (default: 0)")
    add(
        "--repeats",
        default="first",
        metavar="keep | first",
        help="keep repeated interactions of a user with an item; default: only the first",
    )
    add(
        "--column",
        action="append",
        default=[],
        metavar="COLUMN=NAME",
        help="name of the table's user, item, time or grade column; `grade=` for none; may repeat",
    )
    add("--force", action="store_true", help="overwrite an existing split")


def run(arguments: argparse.Namespace) -> None:
    """Write the files of a split and print their counts."""
    from concord.pipeline.stages.split import split

    split(arguments)
