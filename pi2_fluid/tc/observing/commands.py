"""The commands of tc that stand in a line of a script, a session, a trace or a log.

A line is read as a shell reads it: its words, in which tc may stand behind others, as in
``sudo ip netns exec lab tc`` or ``if ! $TC``. Words of tc may be cut short, as tc allows.

Source: tc(8), ip-netns(8); POSIX, Shell Command Language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from itertools import pairwise
from typing import Final, NamedTuple

_WORD: Final = r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\$\{[^}]*\}|[^\s;|&()<>`])+"""
_TOKEN: Final = re.compile(
    rf"""\s*(?:(?P<comment>\#.*)
        |(?P<redirection>[0-9]*(?:>>|>&|<&|<<|<>|>\||<|>)\s*(?:{_WORD})?|&>>?\s*(?:{_WORD})?)
        |(?P<operator>&&|\|\||;;|[;|&()`])
        |(?P<word>{_WORD}))""",
    re.VERBOSE,
)
_PART: Final = re.compile(r"""\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)"|([^\\'"]+|['"])""")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ASSIGNMENT: Final = re.compile(r"(\w+)=(.*)", re.DOTALL)
#: tc, also of a path, of another build, at the end of a key, or in a variable.
_TC: Final = re.compile(r"(?:.*[/=])?tc(?:[-_.]\w+)*|\$[{(]?\w*(?i:tc)\w*[})]?")
#: Before it: in square brackets or not, who and where; then the sign that a shell is waiting.
_PROMPT: Final = re.compile(
    r"\s*(?:\[?(?:[\w.-]+@)(?P<host>[\w.-]+)[^\]$#%>]*\]?|\[[^\]]*\]|\([^)]*\)\s*|[\w.-]+)?"
    r"[$#%>]\s+(?=\S)"
)
_OBJECTS: Final = ("qdisc", "class", "filter")
_VERBS: Final = ("add", "change", "replace", "link", "delete", "list", "show", "lst")
_SHOWING: Final = {"list", "lst", "show"}
#: Options of tc that a word follows, by how short they may be; others are alone.
_WITH_WORD: Final = (("-netns", 2), ("-batch", 2), ("-conf", 2))
_DEPTH: Final = 2  # commands in quotes, as of ssh, which may quote others


class Command(NamedTuple):
    """A command of tc, its words of one kind spelled out.

    `verb` is "show" where there is none. `words` are those behind the verb.
    """

    about: str
    verb: str
    words: tuple[str, ...]
    namespace: str | None = None

    @property
    def dev(self) -> str | None:
        """The device that it names, where that is not a variable."""
        for before, word in pairwise(self.words):
            if before == "dev":
                return None if "$" in word or "%" in word else word
        return None


def without_prompt(line: str) -> tuple[str, str | None] | None:
    """Return what was typed at a prompt, and the machine that it names; None without a prompt.

    Examples
    --------
    >>> without_prompt("[root@fw ~]# tc qdisc show"), without_prompt("$ tc -s q")
    (('tc qdisc show', 'fw'), ('tc -s q', None))
    """
    match = _PROMPT.match(line)
    return None if match is None else (line[match.end() :], match["host"])


def commands_in(line: str, variables: MutableMapping[str, str]) -> list[Command]:
    """Return the commands of tc in a line, in order.

    Parameters
    ----------
    line : str
        Without a prompt.
    variables : mapping of str to str
        What is known of the shell's: those that the line assigns are added.

    Examples
    --------
    >>> commands_in("if sudo ip netns exec x tc -s q r dev eth0 root pie; then :", {})
    [Command(about='qdisc', verb='replace', words=('dev', 'eth0', 'root', 'pie'), namespace='x')]
    >>> commands_in("ssh fw 'tc qd sh dev wan0' 2>/dev/null || true  # look", {})[0].dev
    'wan0'
    """
    return list(_commands(line, variables, _DEPTH))


def _commands(line: str, variables: MutableMapping[str, str], depth: int) -> Iterator[Command]:
    for words in _simple_commands(line, variables):
        found = _of_words(words)
        if found is not None:
            yield found
        elif depth:
            for word in words:
                if " " in word and "tc" in word.lower():
                    yield from _commands(word, variables, depth - 1)


def _simple_commands(line: str, variables: MutableMapping[str, str]) -> Iterator[list[str]]:
    """Yield the words of each command, without quotes, redirections and comments."""
    words: list[str] = []
    at = 0
    while (token := _TOKEN.match(line, at)) is not None and token.end() > at:
        at = token.end()
        if token["word"] is not None:
            words += _expanded(token["word"], variables)
        elif token["operator"] is not None:
            yield from _assigning(words, variables)
            words = []
        elif token["comment"] is not None:
            break
    yield from _assigning(words, variables)


def _assigning(words: list[str], variables: MutableMapping[str, str]) -> Iterator[list[str]]:
    """Yield the words, unless they are assignments alone, which are kept."""
    if words[:1] and words[0] in {"export", "local", "readonly", "declare"}:
        words = words[1:]
    assigned = [_ASSIGNMENT.fullmatch(word) for word in words]
    if all(assigned):
        variables.update((match[1], match[2]) for match in assigned if match is not None)
    elif words:
        yield words


def _expanded(word: str, variables: MutableMapping[str, str]) -> list[str]:
    """Return a word without its quotes, with the values of variables that are known."""
    plain = "".join(part[1] or part[2] or part[3] or part[4] or "" for part in _PART.finditer(word))
    if "$" not in plain:
        return [plain]
    value = _VARIABLE.sub(lambda name: variables.get(name[1] or name[2], name[0]), plain)
    return value.split() if value != plain and word[0] not in "'\"" else [value]


def _of_words(words: list[str]) -> Command | None:
    """Return the command of tc that words are, or end with."""
    namespace: str | None = None
    for at, word in enumerate(words):
        if words[at : at + 2] == ["netns", "exec"] and at + 2 < len(words):
            namespace = words[at + 2]
        if _TC.fullmatch(word) and (found := _behind_tc(words[at + 1 :], namespace)):
            return found
    return None


def _behind_tc(words: list[str], namespace: str | None) -> Command | None:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option = words[at].replace("--", "-", 1)
        followed = [
            name for name, least in _WITH_WORD if len(option) >= least and name.startswith(option)
        ]
        if followed and at + 1 < len(words):
            namespace = words[at + 1] if followed[0] == "-netns" else namespace
            at += 1
        at += 1
    about = _whole(words[at] if at < len(words) else "", _OBJECTS)
    if about is None:
        return None
    verb = _whole(words[at + 1], _VERBS) if at + 1 < len(words) else "show"
    if verb is None:
        return None
    verb = "show" if verb in _SHOWING else verb
    return Command(about, verb, tuple(words[at + 2 :]), namespace)


def _whole(word: str, known: tuple[str, ...]) -> str | None:
    """Return the first of some words that one is short for."""
    return next((one for one in known if word and one.startswith(word)), None)
