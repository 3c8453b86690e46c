"""What each file of a skill is for, and which of them can be read as text."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from understudy.guard.rule import Place

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
    "jsx", "ts", "tsx", "mts", "rb", "pl", "pm", "php", "lua", "go", "rs", "java", "kt", "swift", "c", "cc",
    "cpp", "h", "cs", "ps1", "psm1", "psd1", "bat", "cmd", "vbs", "vba", "wsf", "hta", "scpt", "applescript",
    "r", "jl", "ex", "exs", "clj", "scala", "groovy", "gradle", "mk", "service", "timer", "plist", "desktop",
    "reg", "awk", "sed", "sql", "tcl", "nix", "dockerfile",
})  # fmt: skip
_SCRIPT_NAMES: Final = re.compile(r"(?i)^(makefile|dockerfile.*|justfile|rakefile|gemfile|procfile|jenkinsfile|package\.json|setup\.cfg|crontab|\.?(bash|zsh)(rc|_profile)|\.profile|\.envrc)$")  # fmt: skip
_BYTE_ORDER: Final[Mapping[bytes, str]] = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def place_of(path: str, text: str = "") -> Place:
    """What the file at this path is for."""
    name = PurePosixPath(path).name
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    if path == MANIFEST_NAME:
        return Place.MANIFEST
    if ending in _SCRIPTS or _SCRIPT_NAMES.match(name) or text.startswith("#!"):
        return Place.SCRIPT
    if ending in _DATA:
        return Place.DATA
    return Place.DOCUMENT if ending in _DOCUMENTS or not ending else Place.DATA


def text_of(path: str, content: bytes) -> str | None:
    """What a file says, or None if it holds no text."""
    for mark, encoding in _BYTE_ORDER.items():
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        # A shell runs a script whatever its bytes are, so what is named like one is read as one.
        return content.decode("utf-8", "replace") if _is_named_as_text(path) else None
    return text if "\0" not in text or _is_named_as_text(path) else None


def _is_named_as_text(path: str) -> bool:
    name = PurePosixPath(path).name.lower()
    return name.rpartition(".")[2] in _DOCUMENTS | _DATA | _SCRIPTS or "." not in name
