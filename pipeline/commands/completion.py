"""`concord completion SHELL`: the shell's script, and the words that it asks for at every Tab.

The shell says what stands before the cursor; the parser of the command line and params.yaml know what may follow.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from concord.metrics_core.checking.problems import InputError

SCRIPTS = {
    "bash": """_concord() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <("$1" completion bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}
complete -o default -F _concord concord
""",
    "zsh": """#compdef concord
_concord() {
    local -a found
    found=("${(@f)$(concord completion zsh "${(@Q)words[1,CURRENT]}" 2>/dev/null)}")
    [[ -n "$found" ]] && compadd -a found
}
compdef _concord concord
""",
    "fish": """function __concord_words
    set -l token (commandline -ct)
    concord completion fish (commandline -opc) "$token" 2>/dev/null
end
complete -c concord -f -a '(__concord_words)'
""",
}
_PLAIN = re.compile(r"([^\w@%+=:,./-])")  # all else has a meaning to bash


def script(shell: str) -> None:
    print(SCRIPTS[shell], end="")


def complete(parser: argparse.ArgumentParser, shell: str, given: Sequence[str]) -> None:
    """Prints what the last word may become, a line each."""
    if shell == "bash":
        typed = _typed(given[0], breaks=given[1] if len(given) > 1 else "")
    else:
        typed = Typed(list(given[1:]), "", quoted=True)
    *before, begun = typed.words or [""]
    for word in sorted(_following(parser, before, begun)):
        if word.startswith(begun):
            rest = word[len(typed.kept) :]
            print(rest if typed.quoted else _PLAIN.sub(r"\\\1", rest))


class Typed(NamedTuple):
    """The words after the command's name, the last one begun; bash keeps what stands before a break inside of it."""

    words: list[str]
    kept: str
    quoted: bool  # does the shell see to quotes itself?


def _typed(line: str, breaks: str) -> Typed:
    words, quote, open_word = [""], "", False
    kept, characters = "", iter(line)
    for character in characters:
        if quote and character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote, open_word = character, True
        elif not quote and character == "\\":
            words[-1] += next(characters, "")
        elif not quote and character.isspace():
            if words[-1] or open_word:
                words.append("")
            open_word, kept = False, ""
        else:
            words[-1] += character
            kept = words[-1] if character in breaks and not quote else kept
    return Typed(words[1:], kept, quoted=bool(quote))


def _following(parser: argparse.ArgumentParser, before: Sequence[str], begun: str) -> Iterator[str]:
    """What may stand where the last word stands."""
    named: dict[str, str] = {}  # the values of positional arguments so far
    waiting: argparse.Action | None = None  # an option that lacks its value
    ended = 0  # positional arguments that have their values
    for word in before:
        positional = _positional(parser, ended)
        if waiting is not None:
            waiting = None
        elif word.startswith("-"):
            option = parser._option_string_actions.get(word)
            waiting = option if option is not None and option.nargs is None else None
        elif isinstance(positional, argparse._SubParsersAction):
            if word not in positional.choices:
                return
            parser, ended = positional.choices[word], 0
            named = {"command": word}
        elif positional is not None:
            named[positional.dest] = word
            ended += positional.nargs != "*"
    option_named, equals, _ = begun.partition("=")
    if waiting is None and equals and begun.startswith("-"):
        waiting = parser._option_string_actions.get(option_named)
        yield from (f"{option_named}={value}" for value in _values(waiting, named))
    elif waiting is not None:
        yield from _values(waiting, named)
    elif begun.startswith("-"):
        yield from (flag for flag in parser._option_string_actions if flag.startswith("--"))
    else:
        yield from _values(_positional(parser, ended), named)


def _positional(parser: argparse.ArgumentParser, at: int) -> argparse.Action | None:
    positional = [action for action in parser._actions if not action.option_strings]
    return positional[at] if at < len(positional) else None


def _values(action: argparse.Action | None, named: dict[str, str]) -> list[str]:
    if action is None or action.choices is not None:
        return list(action.choices or ()) if action else []
    of_background = named.get("stage") == "load-background"
    known: dict[str, Callable[[], list[str]]] = {
        "model": lambda: list(_section("models")),
        "other": lambda: list(_section("models")),
        "segment": lambda: [f"{name}=" for name in _section("segments")],
        "argument": lambda: list(_section("background" if of_background else "models")),
        "how_to": lambda: ["leave-last-out", "global-time", "users", "cold-items"],
        "metric": _labels,
        "names": lambda: ["diff", "params.yaml", *_presets()],
        "preset": _presets,
        "repeats": lambda: ["keep", "first"],
        "versus": lambda: ["params.yaml", *_presets()],
    }
    return known[action.dest]() if action.dest in known else []


def _section(name: str) -> dict[str, Any]:
    """A section of params.yaml here; empty where there is none."""
    from concord.pipeline.params.safe_yaml import load_yaml

    file = Path("params.yaml")
    try:
        content = load_yaml(file.read_text(encoding="utf-8"), str(file))
        section = content[name]
    except (OSError, UnicodeDecodeError, InputError, LookupError, TypeError):
        return {}
    return section if isinstance(section, dict) else {}


def _labels() -> list[str]:
    from concord.metrics_core.metrics.catalogue import expand

    asked = _section("evaluation")
    try:
        return [str(label) for label in expand(asked["metrics"], asked["ks"])]
    except (LookupError, TypeError, ValueError):
        return []


def _presets() -> list[str]:
    from concord.metrics_core.conventions.presets import presets

    return list(presets())
