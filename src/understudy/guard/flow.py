"""Follows what is read through the variables and files it is kept in, to where it goes."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

# Names that take a value: `x =`, `x :=`, `as x`, `for x in`, `> file`, `read x`.
_TAKES: Final = re.compile(
    r"([A-Za-z_]\w{0,60})(?:\[[^\]\n]{0,40}\])?\s{0,4}(?::\s{0,2}[\w\[\], .|]{1,40})?\s{0,4}[:+|]?=(?!=|>)"
    r"|\bas\s+([A-Za-z_]\w{0,60})"
    r"|\bfor\s+([A-Za-z_]\w{0,60})(?:\s*,\s*\w{1,60})?\s+(?:in|of)\b"
    r"|\bread\s+(?:-\w+\s+)?([A-Za-z_]\w{0,60})"
    r"|(?:>>?\s{0,4}|-[oO]\s+|\btar\s+\S{1,20}\s+|\bzip\s+(?:-\w+\s+)?|\btee\s+)([~$/.\w][\w./~$-]{2,100})"
    r"|\b([A-Za-z_]\w{0,60})\.(?:append|add|update|extend|write\w{0,10}|push|set)\("
    r"|\bopen\w{0,6}\(\s{0,4}['\"]([^'\"\n]{2,100})['\"]\s{0,4},\s{0,4}['\"][aw]"
    r"|\b(?:cp|mv|copy\w{0,4})\b[^;&|\n]{1,200}?[\s,]['\"]?([~$/.][\w./~$-]{2,100})['\"]?\)?\s{0,4}(?:$|[;&|])"
)
_TOKENS: Final = re.compile(r"(?<![-\w])(?:[A-Za-z_]\w*|[~$/.][\w./~$-]{2,100})")
_FUNCTION: Final = re.compile(
    r"^(\s*)(?:export\s+)?(?:async\s+)?(?:def|function|func|fn|sub)\s+([A-Za-z_]\w{0,60})"
    r"|^(\s*)(?:const|let|var)\s+([A-Za-z_]\w{0,60})\s*=\s*(?:async\s*)?(?:\([^)]{0,80}\)|\w+)\s*=>"
    r"|^(\s*)([A-Za-z_]\w{0,60})\s*\(\)\s*\{"
)
_RETURNS: Final = re.compile(r"\b(?:return|yield|echo|print|cat)\b")
# Names of what every call has, which say nothing of where a value came from.
_COMMON: Final = frozenset(
    {
        "self",
        "this",
        "url",
        "headers",
        "timeout",
        "method",
        "params",
        "encoding",
        "errors",
        "mode",
        "shell",
    }
)


def kept(lines: Sequence[str], sources: Collection[int]) -> frozenset[str]:
    """The files, by their paths, that what is read at the sources is kept in."""
    held: set[str] = set()
    for _ in _followed(lines, sources, held, _functions(lines)):
        pass
    return frozenset(name for name in held if name.startswith(("/", "~")))


def reached(
    lines: Sequence[str],
    sources: Collection[int],
    sinks: Collection[int],
    held: Collection[str] = (),
) -> Iterable[int]:
    """The lines among `sinks` (or calls of a function that holds one) that a source's value gets to."""
    owners = _functions(lines)
    senders = {owners[index] for index in sinks if owners[index]}
    found = {
        index
        for index, words in _followed(lines, sources, set(held), owners)
        if index in sinks or (index not in sources and _calls(words, senders, owners[index]))
    }
    return sorted(found)


def _followed(
    lines: Sequence[str], sources: Collection[int], held: set[str], owners: Sequence[str]
) -> Iterator[tuple[int, Collection[str]]]:
    """Each line that a value from the sources is on, with its words; names that take it are held."""
    # The second time round, what a function below answers is known above.
    for _ in range(2):
        for index, line in enumerate(lines):
            words = set(_TOKENS.findall(line))
            if index in sources or not held.isdisjoint(words):
                yield index, words
                held |= _taken(line) - _COMMON
                if owners[index] and _RETURNS.search(line):
                    held.add(owners[index])


def _calls(words: Collection[str], senders: Collection[str], owner: str) -> bool:
    return any(name in words for name in senders if name != owner)


def _taken(line: str) -> set[str]:
    return {name for found in _TAKES.findall(line) for name in found if name}


def _functions(lines: Sequence[str]) -> Sequence[str]:
    """For each line the function it is in, by how far it is set in."""
    owners: list[str] = []
    name, depth = "", 0
    for line in lines:
        started = _FUNCTION.match(line)
        if started:
            indent, name = next(
                (started[at], started[at + 1]) for at in (1, 3, 5) if started[at + 1]
            )
            depth = len(indent)
        elif line.strip() and len(line) - len(line.lstrip()) <= depth and line.strip() not in "})]":
            name = ""
        owners.append(name)
    return owners
