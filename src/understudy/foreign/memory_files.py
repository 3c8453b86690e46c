"""Which files hold the memory and the instructions of coding agents, and which calls write them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from pathlib import PurePosixPath
from typing import Any, Final

from understudy.permissions.shell_words import commands

NAMES: Final = frozenset(
    {"MEMORY.md", "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "SKILL.md"}
)
# The most files of one call that are looked at, and the longest command whose words are.
MAX_WRITES: Final = 20
MAX_COMMAND_CHARS: Final = 16_000
# Stands for the files of a command that is longer.
LONG_COMMAND: Final = "a long command"
# Folders of memory, by their Markdown files; those of rules, by every file.
_MEMORY_FOLDER: Final = "memory"
_RULES: Final = re.compile(r"(?:^|/)\.(?:claude|codex|agents|cursor)/rules/.")
# The same in a command line.
_NAMED: Final = re.compile(
    r"\b(?:MEMORY|CLAUDE|CLAUDE\.local|AGENTS|AGENTS\.override|SKILL)\.md\b"
    r"|(?:^|[\s/'\"=])memory/[^\s'\";|&<>]{0,500}\.md\b"
    r"|\.(?:claude|codex|agents|cursor)/rules/"
)
_FOLDERS: Final = ("memory/", ".claude/rules", ".codex/rules", ".agents/rules", ".cursor/rules")
# Writes to a file, other than to the null device or another descriptor.
_WRITES: Final = re.compile(r">(?!\s*(?:/dev/null|&))")
_LAST_FILE: Final = re.compile(r"(>>?)\s*['\"]?([^\s'\";|&<>]+)['\"]?\s*$")
_ECHO_FLAGS: Final = frozenset({"-n", "-e", "-E", "-ne", "-en"})
# Programs that only read what they are given.
_READERS: Final = frozenset(
    [
        "[",
        "basename",
        "cat",
        "cd",
        "cmp",
        "cut",
        "diff",
        "dirname",
        "echo",
        "egrep",
        "file",
        "grep",
        "head",
        "less",
        "ls",
        "md5sum",
        "more",
        "nl",
        "printf",
        "pwd",
        "readlink",
        "realpath",
        "rg",
        "sha256sum",
        "stat",
        "tail",
        "test",
        "tree",
        "true",
        "uniq",
        "wc",
    ]
)
# Programs that only read, unless they have such a flag.
_WRITING_FLAGS: Final = {
    "sed": re.compile(r"-[A-Za-z]*i|--in-place"),
    "sort": re.compile(r"-[A-Za-z]*o|--output"),
}
_GIT_READS: Final = frozenset(
    [
        "add",
        "blame",
        "branch",
        "commit",
        "diff",
        "fetch",
        "grep",
        "log",
        "ls-files",
        "push",
        "remote",
        "rev-parse",
        "show",
        "status",
    ]
)
_PATCH_BEGIN: Final = "*** Begin Patch"
# The tool whose whole input is a patch, and a command line that does no more than that tool.
_PATCHER: Final = "apply_patch"
_PATCH_ALONE: Final = re.compile(rf"\s*{_PATCHER}\s+<<\s*(['\"])(\w+)\1\n(?:(?!\2\n).*\n)*\2\s*")
_PATCH_FILE: Final = re.compile(
    r"^\*\*\* (?:(Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWrite:
    """A write to a memory file; what the file would hold where that is known."""

    path: str
    # The new text, of the text before; None where only running the call would tell.
    after: Callable[[str], str | None]
    # What the agent asked for, as it is shown where the new text is unknown.
    shown: str


def is_memory(path: str) -> bool:
    """Whether a path names a file with memory, instructions or a skill."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if not parts:
        return False
    if parts[-1] in NAMES:
        return True
    is_noted = _MEMORY_FOLDER in parts[:-1] and parts[-1].endswith(".md")
    return is_noted or _RULES.search("/".join(parts)) is not None


def memory_writes(tool: str, given: Mapping[str, Any]) -> tuple[MemoryWrite, ...]:
    """The memory files that a tool call of Claude Code or Codex writes, up to `MAX_WRITES` and one."""
    path = given.get("file_path", given.get("path"))
    if isinstance(path, str) and tool in _EDITORS:
        if not is_memory(path):
            return ()
        shown = json.dumps(given, ensure_ascii=False, indent=2)
        return (MemoryWrite(path=path, after=_EDITORS[tool](given), shown=shown),)
    patch = next((text for text in _texts(given) if _PATCH_BEGIN in text), "")
    found = tuple(islice(_patched(patch), MAX_WRITES + 1))
    command = given.get("command", given.get("cmd"))
    text = " ".join(map(str, command)) if isinstance(command, list) else command
    if not isinstance(text, str) or (patch and _is_patch_alone(tool, command)):
        return found
    return (*found, *_by_command(text))


def _is_patch_alone(tool: str, command: Any) -> bool:
    """Whether a call that has a patch does nothing else."""
    if tool == _PATCHER or (isinstance(command, list) and command[:1] == [_PATCHER]):
        return True
    return isinstance(command, str) and _PATCH_ALONE.fullmatch(command) is not None


def _texts(given: Mapping[str, Any]) -> Iterator[str]:
    for value in given.values():
        yield from (each for each in _flat(value) if isinstance(each, str))


def _flat(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else (value,)


def _written(given: Mapping[str, Any]) -> Callable[[str], str | None]:
    content = given.get("content")
    return lambda _: content if isinstance(content, str) else None


def _edited(given: Mapping[str, Any]) -> Callable[[str], str | None]:
    edits = given.get("edits")
    listed = edits if isinstance(edits, list) else [given]
    wanted = [each for each in listed if isinstance(each, Mapping)]

    def after(before: str) -> str | None:
        text = before
        for each in wanted:
            old, new = each.get("old_string"), each.get("new_string")
            if not isinstance(old, str) or not isinstance(new, str) or (old and old not in text):
                return None
            text = text.replace(old, new, -1 if each.get("replace_all") else 1) if old else new
        return text

    return after


_EDITORS: Final[Mapping[str, Callable[[Mapping[str, Any]], Callable[[str], str | None]]]] = {
    "Write": _written,
    "Edit": _edited,
    "MultiEdit": _edited,
}


def _patched(patch: str) -> Iterator[MemoryWrite]:
    found = list(_PATCH_FILE.finditer(patch))
    for this, following in zip_longest(found, found[1:]):
        path = this[2].strip()
        if not is_memory(path):
            continue
        body = patch[this.end() : following.start() if following else len(patch)]
        added = _added(body) if this[1] == "Add" else None
        yield MemoryWrite(path=path, after=partial(_always, added), shown=this[0] + body)


def _always(text: str | None, _: str) -> str | None:
    return text


def _added(body: str) -> str:
    """The text of a new file: the lines that begin with a plus."""
    lines = [line[1:] for line in body.split("\n") if line.startswith("+")]
    return "".join(f"{line}\n" for line in lines)


def _by_command(text: str) -> Iterator[MemoryWrite]:
    """A command line that names a memory file and does more than read."""
    if len(text) > MAX_COMMAND_CHARS:
        if any(name in text for name in (*NAMES, *_FOLDERS)):
            yield MemoryWrite(path=LONG_COMMAND, after=partial(_always, None), shown=text)
        return
    named = _NAMED.search(text)
    if named is None or not (_WRITES.search(text) or not all(map(_only_reads, commands(text)))):
        return
    start = max(text.rfind(each, 0, named.end()) for each in " '\"=>\n") + 1
    path = text[start : named.end()]
    yield MemoryWrite(path=path, after=partial(_echoed, text, path), shown=text)


def _echoed(text: str, path: str, before: str) -> str | None:
    """The new text of a file that a lone `echo` writes; None for every other command."""
    redirection = _LAST_FILE.search(text)
    [words, *others] = commands(text) or [[]]
    is_plain = not others and len(words) > 1 and not any(word.is_open for word in words)
    if redirection is None or redirection[2] != path or not is_plain:
        return None
    if words[0].text != "echo" or words[1].text in _ECHO_FLAGS:
        return None
    line = " ".join(word.text for word in words[1:]) + "\n"
    return before + line if redirection[1] == ">>" else line


def _only_reads(command: Sequence[Any]) -> bool:
    words = [word.text for word in command]
    if not words:
        return True
    program = words[0].rpartition("/")[2]
    if program == "git":
        return next((it for it in words[1:] if not it.startswith("-")), "") in _GIT_READS
    if program in _WRITING_FLAGS:
        return not any(map(_WRITING_FLAGS[program].match, words[1:]))
    return program in _READERS
