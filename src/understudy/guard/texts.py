"""The purpose of each file of a skill, and the text in it."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from understudy.guard.rule import FileKind
from understudy.patterns.word_lists import WordLists

MANIFEST_NAME: Final = "SKILL.md"
WORDS: Final = WordLists("understudy.guard")
_SCRIPT_NAMES: Final = re.compile(r"(?i)^(makefile|dockerfile.*|justfile|rakefile|gemfile|procfile|jenkinsfile|package\.json|setup\.cfg|crontab|\.?(bash|zsh)(rc|_profile)|\.profile|\.envrc)$")  # fmt: skip
# Folders of programs: a file here whose name tells nothing else is a script.
_SCRIPT_FOLDERS: Final = frozenset({"scripts", "bin"})
_LOOKED_AT: Final = 65_536
_SHEBANG: Final = b"#!"
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
# Bytes count as text while at most one character in ten is invalid.
_FLAWS: Final = 10
_CONTROLS: Final = bytes({*range(32), 127} - set(b"\t\n\r\f\v\b\x1b"))
# Readable text between binary bytes; shorter runs are coincidence.
_RUN: Final = re.compile(rb"[\t\n\r -~]{8,}")


def kind_of(path: str, text: str = "") -> FileKind:
    """The kind of the file at a path."""
    name, ending = PurePosixPath(path).name, _ending(path)
    if path == MANIFEST_NAME:
        return FileKind.MANIFEST
    if (
        ending in WORDS.set("file_endings.scripts")
        or _SCRIPT_NAMES.match(name)
        or text.startswith("#!")
    ):
        return FileKind.SCRIPT
    if ending in WORDS.set("file_endings.data"):
        return FileKind.DATA
    if ending in WORDS.set("file_endings.documents"):
        return FileKind.DOCUMENT
    if not _SCRIPT_FOLDERS.isdisjoint(path.lower().split("/")[:-1]):
        return FileKind.SCRIPT
    return FileKind.DATA if ending else FileKind.DOCUMENT


def _is_named_as_text(path: str) -> bool:
    """Whether the suffix marks a text file, even if some bytes are invalid."""
    ending = _ending(path)
    kinds = ("scripts", "data", "documents")
    return any(ending in WORDS.set(f"file_endings.{kind}") for kind in kinds)


def _ending(path: str) -> str:
    name = PurePosixPath(path).name
    return name.rpartition(".")[2].lower() if "." in name else ""


def is_text(path: str, content: bytes) -> bool:
    """Whether a file is shown as text: by its suffix, else by its first bytes."""
    start = content[:_LOOKED_AT]
    if _is_named_as_text(path) or start.startswith(_SHEBANG):
        return True
    if b"\0" in start:
        return False
    try:
        start.decode()
    except UnicodeDecodeError as error:
        # The sample may end within a character.
        return error.start >= len(start) - 3 and len(start) == _LOOKED_AT
    return True


class FileText(NamedTuple):
    """A readable text, and its line numbers in the file if not consecutive from 1."""

    text: str
    numbers: Sequence[int] | None = None


def texts_of(path: str, content: bytes) -> Sequence[FileText]:
    """The readable texts of a file, one per encoding that a reader may assume."""
    if content.startswith(_WIDE):
        # A shell ignores the byte order mark and reads single bytes.
        found = [FileText(content.decode("utf-16", "replace")), _between(content)]
    elif is_text(path, content):
        found = [FileText(content.decode("utf-8-sig", "replace"))]
    else:
        found = [_between(content)]
    return [one for one in found if one.text]


def _between(content: bytes) -> FileText:
    """The readable text in binary bytes."""
    text = content.decode("utf-8", "replace")
    flaws = text.count("\ufffd") + len(content) - len(content.translate(None, _CONTROLS))
    if flaws * _FLAWS <= len(text):
        return FileText(text.replace("\0", "\ufffd"))
    return _runs(content)


def _runs(content: bytes) -> FileText:
    """The readable runs, each on lines of its own, without the bytes around."""
    lines: list[str] = []
    numbers: list[int] = []
    number, end = 1, 0
    for run in _RUN.finditer(content):
        number += content.count(b"\n", end, run.start())
        said = run[0].decode("ascii").replace("\r", " ").split("\n")
        lines += said
        numbers += range(number, number + len(said))
        number, end = number + len(said) - 1, run.end()
    return FileText("\n".join(lines), numbers)
