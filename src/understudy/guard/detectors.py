"""Detectors without a pattern: invisible characters, file types, typosquatted packages."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple

from understudy.guard.rule import Detector
from understudy.guard.source import ScannedText
from understudy.guard.views import LineView
from understudy.patterns.linear import spans_of
from understudy.patterns.matcher import compiled
from understudy.patterns.word_lists import WordLists

_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_NUL: Final = re.compile("\0")
# Except after a black flag: the flags of England, Scotland and Wales are spelled with tags.
_TAGS: Final = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]")
_ZERO_WIDTH: Final = re.compile("[\u200b-\u200f\u2060-\u2064\u180e\ufeff\u034f]{5,}")
_SELECTORS: Final = re.compile(
    "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}|[\u3164\u115f\u1160\uffa0]{3,}"
)
_FAR_RIGHT: Final = re.compile(r"[^\s|][ \t\u00a0\u3000]{200,}[^\s|\\]")
_BREAK: Final = re.compile(r"\r\n|\r|\n")
# Magic bytes of compiled programs: Linux, Windows, macOS (four byte orders), Java, WebAssembly.
_PROGRAMS: Final = (
    b"\x7fELF", b"MZ\x90", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"\0asm",
)  # fmt: skip
# A `.pyc` header: the magic number, CRLF, and flags that are mostly zero.
_PYTHON_3: Final = frozenset({0x0C, 0x0D, 0x0E})
_LINE_END: Final = b"\r\n"
_BYTECODE_NAMES: Final = (".pyc", ".pyo")
_CACHE: Final = "__pycache__"
_BY_TIME: Final = bytes(4)
# Python runs any file that ends with a ZIP archive.
_ARCHIVE_END: Final = b"PK\x05\x06"
_ARCHIVE_END_WITHIN: Final = 65_557
_STARTS_IN: Final = b"__main__.py"
WORDS: Final = WordLists("understudy.guard")
_INSTALLERS: Final = r"\b(?:pip|uv|poetry|pdm|npm|pnpm|yarn|bun|npx)"
# Install commands by package index, with the part that names the packages.
_INSTALLS: Final = (
    (
        "python",
        re.compile(
            r"(?i)\b(?:pip[\d.]*|pipx|uv\s+(?:pip|tool|add)|uv|poetry|pdm)\s+(?:install|add|inject)\s+([^\n;&|`#]{1,400})"
        ),
    ),
    (
        "node",
        re.compile(r"(?i)\b(?:npm|pnpm|yarn|bun)\s+(?:install|i|add)\s+([^\n;&|`#]{1,400})"),
    ),
    ("node", re.compile(r"(?i)\bnpx\s+(?:-\S+\s+)?(\S{1,80})")),
)
# Shorter names are similar by chance.
_MIN_LETTERS: Final = 5
_NAME: Final = re.compile(r"(?:^|(?<=[\s\"']))([A-Za-z][\w.-]{3,40}?)(?=[\s\"'=<>~!@\[,]|$)")
_REQUIREMENT: Final = re.compile(
    r"^\s{0,8}([A-Za-z][\w.-]{3,40})\s{0,4}(?:\[[\w,]{0,40}\])?\s{0,4}(?:[=<>~!].{0,80})?$"
)
_DEPENDENCY: Final = re.compile(r"^\s{0,16}\"([A-Za-z][\w.-]{3,40})\"\s{0,4}:\s{0,4}\"[\^~]?\d")
_LISTS: Final = (
    ("requirements.txt", "python", _REQUIREMENT),
    ("package.json", "node", _DEPENDENCY),
)


class TextDetector(NamedTuple):
    """A detector on the text of a file; yields line numbers."""

    lines: Callable[[ScannedText], Iterator[int]]


class ScannedFile(NamedTuple):
    """A file with its bytes; `is_read` is whether its text is scanned."""

    path: str
    content: bytes
    is_read: bool


class FileDetector(NamedTuple):
    """A detector on a file as a whole."""

    holds: Callable[[ScannedFile], bool]


def _with(pattern: re.Pattern[str]) -> TextDetector:
    def lines(source: ScannedText) -> Iterator[int]:
        if pattern.search(source.text):
            for number, line in enumerate(_BREAK.split(source.text), 1):
                if pattern.search(line):
                    yield source.number(number)

    return TextDetector(lines)


def _is_program(content: bytes) -> bool:
    """Whether a file is a compiled program."""
    return content.startswith(_PROGRAMS)


def _is_bytecode(path: str, content: bytes) -> bool:
    """Whether a file is Python bytecode, other than a `__pycache__` file that Python checks."""
    flags = content[4:8]
    if path.lower().endswith(_BYTECODE_NAMES):
        # Python writes these caches itself and ignores one whose timestamp differs from its
        # source's; other flags would make it trust the file unchecked.
        return not (_CACHE in path.split("/") and flags == _BY_TIME)
    return content[2:4] == _LINE_END and content[1] in _PYTHON_3 and b"\0" in flags


def _is_packed(content: bytes) -> bool:
    """Whether a file is a ZIP archive that Python would run."""
    return _ARCHIVE_END in content[-_ARCHIVE_END_WITHIN:] and _STARTS_IN in content


def _typosquats(view: LineView, path: str) -> Iterator[int]:
    """The lines that install a package whose name imitates a well-known one."""
    is_list = path.endswith(tuple(ending for ending, _, _ in _LISTS))
    indexes = range(len(view.lines)) if is_list else _with_installers(view)
    for index in indexes:
        if any(_is_typosquat(name, kind) for kind, name in _installed(view.lines[index], path)):
            yield view.numbers[index]


def _with_installers(view: LineView) -> Iterable[int]:
    """The lines that name a package installer; few do."""
    found = spans_of(compiled(_INSTALLERS), view.text)
    return dict.fromkeys(view.index_at(spans[0][0]) for spans in found)


def _installed(line: str, path: str) -> Iterator[tuple[str, str]]:
    """The package index and name of each package that a line installs."""
    for kind, pattern in _INSTALLS:
        for found in pattern.finditer(line):
            yield from ((kind, name) for name in _NAME.findall(found[1]))
    for ending, kind, pattern in _LISTS:
        named = pattern.match(line) if path.endswith(ending) else None
        if named:
            yield kind, named[1]


# Cached: the same few names occur on many lines.
@lru_cache(maxsize=4096)
def _is_typosquat(name: str, kind: str) -> bool:
    name = name.lower().replace("_", "-")
    if any(name in _packages(known) for known in ("python", "node", "real")):
        return False
    near = {right for short in _shortened(name) for right in _near(kind).get(short, ())}
    return any(_is_one_edit(name, right) for right in near)


def _shortened(name: str) -> Iterator[str]:
    """A name and its variants without one letter: names one edit apart share a variant."""
    yield name
    for at in range(len(name)):
        yield name[:at] + name[at + 1 :]


@cache
def _near(kind: str) -> Mapping[str, Collection[str]]:
    """An index of the known packages by the variants of their names."""
    near: dict[str, set[str]] = defaultdict(set)
    for right in _packages(kind):
        for short in _shortened(right):
            near[short].add(right)
    return near


@cache
def _packages(kind: str) -> frozenset[str]:
    return WORDS.set(f"packages.{kind}")


def _is_one_edit(name: str, right: str) -> bool:
    """Whether two names differ by one edit: a letter dropped, added, changed or swapped."""
    start = next((at for at, (a, b) in enumerate(zip(name, right, strict=False)) if a != b), None)
    if len(right) < _MIN_LETTERS:
        return False
    if start is None:
        # Real packages differ by a digit, a sign or an `s` at the end (boto, boto3).
        return name[-1:].isalpha() and right[-1:].isalpha() and name != right + "s"
    rest, other = name[start:], right[start:]
    return (
        rest[1:] == other
        or rest == other[1:]
        or (rest[1:] == other[1:] and rest[0].isalpha() and other[0].isalpha())
        or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
    )


CHECKS: Final[Mapping[Detector, TextDetector | FileDetector]] = {
    Detector.BIDI: _with(_BIDI),
    Detector.NUL: _with(_NUL),
    Detector.TAGS: _with(_TAGS),
    Detector.ZERO_WIDTH: _with(_ZERO_WIDTH),
    Detector.SELECTORS: _with(_SELECTORS),
    Detector.FAR_RIGHT: _with(_FAR_RIGHT),
    Detector.TYPOSQUAT: TextDetector(lambda source: _typosquats(source.views[0], source.path)),
    Detector.PROGRAM: FileDetector(lambda file: _is_program(file.content)),
    Detector.BYTECODE: FileDetector(lambda file: _is_bytecode(file.path, file.content)),
    Detector.PACKED: FileDetector(lambda file: _is_packed(file.content)),
    # The rule's path pattern decides.
    Detector.PATH: FileDetector(lambda _: True),
    Detector.UNREAD: FileDetector(lambda file: not file.is_read),
}
