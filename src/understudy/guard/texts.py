"""What each file of a skill is for, and what can be read in it."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from understudy.guard.rule import FileKind
from understudy.patterns.word_lists import WordLists

MANIFEST_NAME: Final = "SKILL.md"
WORDS: Final = WordLists("understudy.guard")
_SCRIPT_NAMES: Final = re.compile(r"(?i)^(makefile|dockerfile.*|justfile|rakefile|gemfile|procfile|jenkinsfile|package\.json|setup\.cfg|crontab|\.?(bash|zsh)(rc|_profile)|\.profile|\.envrc)$")  # fmt: skip
# Where programs lie: what is here and nothing else by its name is one.
_SCRIPT_FOLDERS: Final = frozenset({"scripts", "bin"})
_LOOKED_AT: Final = 65_536
_SHEBANG: Final = b"#!"
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
# Bytes are a text with a flaw while no more than one in so many is none.
_FLAWS: Final = 10
_CONTROLS: Final = bytes({*range(32), 127} - set(b"\t\n\r\f\v\b\x1b"))
# What can be read between other bytes; shorter runs are there by chance.
_RUN: Final = re.compile(rb"[\t\n\r -~]{8,}")


def kind_of(path: str, text: str = "") -> FileKind:
    """What the file at this path is for."""
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
    """Whether the file is text by the end of its name, even if a byte of it is not."""
    ending = _ending(path)
    kinds = ("scripts", "data", "documents")
    return any(ending in WORDS.set(f"file_endings.{kind}") for kind in kinds)


def _ending(path: str) -> str:
    name = PurePosixPath(path).name
    return name.rpartition(".")[2].lower() if "." in name else ""


def is_text(path: str, content: bytes) -> bool:
    """Whether a person or a model is shown the file: by its name, else by how it begins."""
    start = content[:_LOOKED_AT]
    if _is_named_as_text(path) or start.startswith(_SHEBANG):
        return True
    if b"\0" in start:
        return False
    try:
        start.decode()
    except UnicodeDecodeError as error:
        # The look may end within a character.
        return error.start >= len(start) - 3 and len(start) == _LOOKED_AT
    return True


class FileText(NamedTuple):
    """Something that can be read, and where its lines stand when not one below the other."""

    text: str
    numbers: Sequence[int] | None = None


def texts_of(path: str, content: bytes) -> Sequence[FileText]:
    """What the file says to each reader it may have; nothing where no part of it can be read."""
    if content.startswith(_WIDE):
        # A shell takes no notice of the mark and reads the bytes one by one.
        found = [FileText(content.decode("utf-16", "replace")), _between(content)]
    elif is_text(path, content):
        found = [FileText(content.decode("utf-8-sig", "replace"))]
    else:
        found = [_between(content)]
    return [one for one in found if one.text]


def _between(content: bytes) -> FileText:
    """What can be read in bytes that are no text."""
    text = content.decode("utf-8", "replace")
    flaws = text.count("\ufffd") + len(content) - len(content.translate(None, _CONTROLS))
    if flaws * _FLAWS <= len(text):
        return FileText(text.replace("\0", "\ufffd"))
    return _runs(content)


def _runs(content: bytes) -> FileText:
    """Each run on lines of its own, so that no other bytes stand beside what it says."""
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
