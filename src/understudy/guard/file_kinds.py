"""What each file of a skill is for, by its name."""

import re
from pathlib import PurePosixPath
from typing import Final

from understudy.guard.rule import FileKind

MANIFEST_NAME: Final = "SKILL.md"
_DOCUMENTS: Final = frozenset({
    "md", "mdx", "markdown", "txt", "rst", "adoc", "org", "html", "htm", "tex",
})  # fmt: skip
_DATA: Final = frozenset({
    "json", "jsonl", "yaml", "yml", "toml", "csv", "tsv", "xml", "ini", "cfg", "conf", "lock", "svg", "css",
    "env", "properties",
})  # fmt: skip
_SCRIPTS: Final = frozenset({
    "sh", "bash", "zsh", "fish", "ksh", "command", "py", "pyw", "pyi", "pth", "ipynb", "js", "mjs", "cjs",
    "jsx", "ts", "tsx", "mts", "cts", "rb", "pl", "pm", "php", "lua", "go", "rs", "java", "kt", "swift", "c", "cc",
    "cpp", "cxx", "h", "hh", "hpp", "hxx", "cs", "ps1", "psm1", "psd1", "bat", "cmd", "vbs", "vba", "wsf", "hta", "scpt", "applescript",
    "r", "jl", "ex", "exs", "clj", "scala", "groovy", "gradle", "mk", "service", "timer", "plist", "desktop",
    "reg", "awk", "sed", "sql", "tcl", "nix", "dockerfile",
})  # fmt: skip
_SCRIPT_NAMES: Final = re.compile(r"(?i)^(makefile|dockerfile.*|justfile|rakefile|gemfile|procfile|jenkinsfile|package\.json|setup\.cfg|crontab|\.?(bash|zsh)(rc|_profile)|\.profile|\.envrc)$")  # fmt: skip
# Where programs lie: what is here and nothing else by its name is one.
_SCRIPT_FOLDERS: Final = frozenset({"scripts", "bin"})


def kind_of(path: str, text: str = "") -> FileKind:
    """What the file at this path is for."""
    name, ending = PurePosixPath(path).name, _ending(path)
    if path == MANIFEST_NAME:
        return FileKind.MANIFEST
    if ending in _SCRIPTS or _SCRIPT_NAMES.match(name) or text.startswith("#!"):
        return FileKind.SCRIPT
    if ending in _DATA:
        return FileKind.DATA
    if ending in _DOCUMENTS:
        return FileKind.DOCUMENT
    if not _SCRIPT_FOLDERS.isdisjoint(path.lower().split("/")[:-1]):
        return FileKind.SCRIPT
    return FileKind.DATA if ending else FileKind.DOCUMENT


def is_named_as_text(path: str) -> bool:
    """Whether the file is text by the end of its name, even if a byte of it is not."""
    ending = _ending(path)
    return ending in _SCRIPTS or ending in _DATA or ending in _DOCUMENTS


def _ending(path: str) -> str:
    name = PurePosixPath(path).name
    return name.rpartition(".")[2].lower() if "." in name else ""
