"""Data flow: follows a value through the variables and files that hold it, to a sink."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Final

from understudy.patterns.word_lists import WordLists

# Names that take a value: `x =`, `x, y :=`, `as x`, `for x in`, `> file`, `read x`.
_TAKES: Final = re.compile(
    r"\b(?:\w{1,20}\.)?(?:chmod\w{0,4}|set_permissions|OpenFile|[wW]riteFile\w{0,4}|binwrite|createWriteStream|urlretrieve)\(\s{0,4}&?['\"]?([~$/.A-Za-z_][\w./~$-]{0,100})"
    r"|\b(?:\w{1,20}\.)?chmod\(?\s{0,4}0?o?[0-7]{3,4},\s{0,4}['\"]?([~$/.A-Za-z_][\w./~$-]{0,100})"
    r"|\b([A-Za-z_]\w{0,60})\.chmod\("
    r"|\bPath\(\s{0,4}['\"]([^'\"\n]{2,100})['\"]\s{0,4}\)\.write_"
    r"|([A-Za-z_]\w{0,60})(?:\[[^\]\n]{0,40}\])?\s{0,4}(?::\s{0,2}[\w\[\], .|<>&]{1,40})?\s{0,4}[:+|]?=(?!=|>)"
    r"|\b([A-Za-z_]\w{0,60})(?:\s{0,2},\s{0,2}\w{1,60}){1,3}\s{0,4}:?=(?!=)"
    r"|\bas\s+([A-Za-z_]\w{0,60})"
    r"|\bfor\s+([A-Za-z_]\w{0,60})(?:\s*,\s*\w{1,60})?\s+(?:in|of)\b"
    r"|\bread\s+(?:-\w+\s+)?([A-Za-z_]\w{0,60})"
    r"|(?:>>?\s{0,4}|-[oO]\s+|\btar\s+\S{1,20}\s+|\bzip\s+(?:-\w+\s+)?|\btee\s+)([~$/.\w][\w./~$-]{2,100})"
    r"|\b([A-Za-z_]\w{0,60})\.(?:append|add|update|extend|write\w{0,10}|push|set)\("
    r"|\bopen\w{0,6}\(\s{0,4}['\"]([^'\"\n]{2,100})['\"]\s{0,4},\s{0,4}['\"][aw]"
    r"|\b(?:cp|mv|copy\w{0,4})\b[^;&|\n]{1,200}?[\s,]['\"]?([~$/.][\w./~$-]{2,100})['\"]?\)?\s{0,4}(?:$|[;&|])"
)
_TOKENS: Final = re.compile(r"(?<![-\w])(?:[A-Za-z_]\w*|[~$/.][\w./~$-]{2,100})")
# A brace after anything but these opens a block, which is not part of a statement.
_BRACKETS: Final = re.compile(
    r"([(\[]|(?<=[=(:,\[])\{|(?<=[=(:,\[] )\{|(?<=return )\{)|(\{)|[)\]}]"
)
# A longer bracketed part is a block rather than a statement.
_MAX_STATEMENT: Final = 12
_FUNCTION: Final = re.compile(
    r"^(\s*)(?:export\s+)?(?:async\s+)?(?:def|function|func|fn|sub)\s+([A-Za-z_]\w{0,60})"
    r"|^(\s*)(?:const|let|var)\s+([A-Za-z_]\w{0,60})\s*=\s*(?:async\s*)?(?:\([^)]{0,80}\)|\w+)\s*=>"
    r"|^(\s*)([A-Za-z_]\w{0,60})\s*\(\)\s*\{"
)
# A name in a list of names: no value is passed to it there.
_LISTED: Final = re.compile(r"(?<=[\[,])\s{0,4}([A-Za-z_]\w*)(?=\s{0,4}[\],])")
# The arguments of a started program are not its result.
_STARTS: Final = re.compile(r"\b(?:spawn|exec|execa|fork|Popen|subprocess\.)\w*\(")
_RETURNS: Final = re.compile(r"\b(?:return|yield|echo|print|cat)\b")
_WORDS: Final = WordLists("understudy.guard")
# Values written here are not kept.
_NO_FILES: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The lines that a value reached, and the names and files that held it."""

    lines: Collection[int]
    held: Collection[str]


class Flow:
    """The data flow in the lines of one file, with cached intermediate results."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._known: dict[frozenset[int], Followed] = {}

    @cached_property
    def _owners(self) -> Sequence[str]:
        return _functions(self._lines)

    @cached_property
    def _lines_of(self) -> Mapping[str, Sequence[int]]:
        """An index of the lines by the words on them."""
        found: dict[str, list[int]] = {}
        for index, line in enumerate(self._lines):
            for word in _words(line):
                on = found.setdefault(word, [])
                if not on or on[-1] != index:
                    on.append(index)
        return found

    @cached_property
    def _heads(self) -> Sequence[int]:
        """The first line of the statement that each line belongs to."""
        return _heads(self._lines)

    def files_of(self, keepers: Collection[str]) -> frozenset[str]:
        """The paths among `keepers` that this file mentions."""
        return frozenset(name for name in self._lines_of if name in keepers)

    def kept(self, sources: frozenset[int]) -> frozenset[str]:
        """The paths of the files that hold a value read at the sources."""
        return frozenset(filter(_is_file, self._from(sources).held)) if sources else frozenset()

    def reached(
        self, sources: frozenset[int], sinks: Collection[int], held: Collection[str] = ()
    ) -> Iterable[int]:
        """The lines among `sinks` (or calls of a function with a sink) that a value reaches."""
        if not sources and not held:
            return ()
        owners = self._owners
        senders = {owners[index] for index in sinks if owners[index]}
        followed = self._follow(sources, held) if held else self._from(sources)
        heads = self._heads
        ends = {heads[index] for index in sinks}
        return sorted(
            index
            for index in followed.lines
            if heads[index] in ends
            or (senders and index not in sources and self._calls(index, senders))
        )

    def _from(self, sources: frozenset[int]) -> Followed:
        """The flow from sources in this file, cached."""
        if sources not in self._known:
            self._known[sources] = self._follow(sources, ())
        return self._known[sources]

    def _follow(self, sources: Collection[int], held: Collection[str]) -> Followed:
        """Visit the lines that hold a value, top down, and collect the names it is assigned to."""
        holding, seen = set(held), set[int]()
        # A second pass: by then, the results of functions defined below are known above.
        for _ in range(2):
            ahead = [index for name in holding for index in self._lines_of.get(name, ())]
            ahead = [index for index in {*sources, *ahead} if index not in seen]
            heapify(ahead)
            while ahead:
                index = heappop(ahead)
                if index in seen:
                    continue
                seen.add(index)
                taken = self._taken_at(index) - holding
                holding |= taken
                for later in self._below(index, taken):
                    heappush(ahead, later)
        return Followed(lines=seen, held=holding)

    def _taken_at(self, index: int) -> set[str]:
        """The names that a value on a line is assigned to."""
        line, owner = self._lines[index], self._owners[index]
        head = self._lines[self._heads[index]]
        said = line if head is line or _STARTS.search(head) else f"{head}\n{line}"
        taken = {name for found in _TAKES.findall(said) for name in found if name}
        taken -= _WORDS.set("common_names")
        return taken | {owner} if owner and _RETURNS.search(line) else taken

    def _below(self, index: int, names: Iterable[str]) -> Iterator[int]:
        for name in names:
            on = self._lines_of.get(name, ())
            yield from on[bisect_right(on, index) :]

    def _calls(self, index: int, senders: Collection[str]) -> bool:
        line = self._lines[index]
        called = {word for word in _TOKENS.findall(line) if word in senders} - {self._owners[index]}
        return bool(called - set(_LISTED.findall(line)))


def _words(line: str) -> Iterator[str]:
    """The names and paths on a line; `$x` counts as a path and as the name `x`."""
    for word in _TOKENS.findall(line):
        yield word
        if word.startswith("$"):
            yield word[1:].partition("/")[0].partition(".")[0]


def _is_file(name: str) -> bool:
    return name.startswith(("/", "~")) and name not in _NO_FILES


def _functions(lines: Sequence[str]) -> Sequence[str]:
    """The enclosing function of each line, by indentation."""
    owners: list[str] = []
    name, depth = "", 0
    for line in lines:
        if not line:
            owners.append(name)
            continue
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


def _heads(lines: Sequence[str]) -> Sequence[int]:
    """The line that opens the outermost bracket around each line, if it is near."""
    heads = list(range(len(lines)))
    opened: list[int] = []
    for index, line in enumerate(lines):
        for bracket in _BRACKETS.finditer(line):
            if bracket[1]:
                opened.append(index)
            elif bracket[2]:
                opened.append(-_MAX_STATEMENT)
            elif opened and 0 < index - (start := opened.pop()) < _MAX_STATEMENT:
                first = heads[start]
                for inner in range(start, index + 1):
                    heads[inner] = min(heads[inner], first)
    return heads
