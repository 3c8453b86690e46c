"""What each file of a skill is for, by its name."""

import re
from pathlib import PurePosixPath
from typing import Final

from understudy.guard.rule import FileKind
from understudy.patterns.word_lists import WordLists

MANIFEST_NAME: Final = "SKILL.md"
WORDS: Final = WordLists("understudy.guard")
_SCRIPT_NAMES: Final = re.compile(r"(?i)^(makefile|dockerfile.*|justfile|rakefile|gemfile|procfile|jenkinsfile|package\.json|setup\.cfg|crontab|\.?(bash|zsh)(rc|_profile)|\.profile|\.envrc)$")  # fmt: skip
# Where programs lie: what is here and nothing else by its name is one.
_SCRIPT_FOLDERS: Final = frozenset({"scripts", "bin"})


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


def is_named_as_text(path: str) -> bool:
    """Whether the file is text by the end of its name, even if a byte of it is not."""
    ending = _ending(path)
    return (
        ending in WORDS.set("file_endings.scripts")
        or ending in WORDS.set("file_endings.data")
        or ending in WORDS.set("file_endings.documents")
    )


def _ending(path: str) -> str:
    name = PurePosixPath(path).name
    return name.rpartition(".")[2].lower() if "." in name else ""
