"""The media type of a file: from its declaration, its name and its first bytes."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from understudy.core.errors import coded_error
from understudy.redaction.scrub import scrub

MAX_NAME_CHARS: Final = 255
UNKNOWN: Final = "application/octet-stream"
PLAIN_TEXT: Final = "text/plain"


class MediaKind(StrEnum):
    """What a model can do with a file."""

    IMAGE = "image"
    DOCUMENT = "document"
    TEXT = "text"
    OTHER = "other"


# The magic bytes of each type; a file of any other type must not have them.
MAGIC: Final[Mapping[str, Callable[[bytes], bool]]] = {
    "image/png": lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda data: data.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda data: data.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP",
    "application/pdf": lambda data: data.startswith(b"%PDF-"),
}
_ALIASES: Final[Mapping[str, str]] = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "application/x-pdf": "application/pdf",
}
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
DOCUMENTS: Final = frozenset(
    {
        "application/pdf",
        "application/msword",
        "application/rtf",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.spreadsheet",
        _OFFICE + "wordprocessingml.document",
        _OFFICE + "spreadsheetml.sheet",
        _OFFICE + "presentationml.presentation",
    }
)
TEXTS: Final = frozenset(
    {
        "application/csv",
        "application/ecmascript",
        "application/javascript",
        "application/json",
        "application/jsonl",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)
_TEXT_SUFFIXES: Final = ("+json", "+xml", "+yaml")
# Text types only: images and PDFs are detected by their magic bytes.
_BY_EXTENSION: Final[Mapping[str, str]] = {
    "csv": "text/csv",
    "htm": "text/html",
    "html": "text/html",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "md": "text/markdown",
    "toml": "application/toml",
    "tsv": "text/tab-separated-values",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
}
_WELL_FORMED: Final = re.compile(
    r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}"
)
_PARTS: Final = re.compile(r"[/\\]")


def clean_name(given: str, *, pointer: str = "/file_name") -> str:
    """The base name without directories and unprintable characters; `Invalid` if empty."""
    last = _PARTS.split(given)[-1]
    shown = " ".join("".join(char if char.isprintable() else " " for char in last).split())
    name = scrub(shown)
    if name.strip(".") == "":
        raise coded_error("assets/invalid_file_name", pointer=pointer)
    if len(name) <= MAX_NAME_CHARS:
        return name
    stem, dot, extension = name.rpartition(".")
    end = dot + extension if stem and len(extension) <= 16 else ""
    return name[: MAX_NAME_CHARS - len(end)] + end


def media_type_of(
    data: bytes, *, declared: str | None, file_name: str, pointer: str = "/media_type"
) -> str:
    """The media type: the declared one, which must match the bytes, else detected."""
    seen = sniff(data)
    wanted = _normal(declared, pointer) if declared is not None else UNKNOWN
    if wanted == UNKNOWN:
        return seen or _text_type(data, file_name)
    if wanted != seen and (seen is not None or wanted in MAGIC):
        raise coded_error(
            "assets/media_type_mismatch",
            pointer=pointer,
            detail=f"the bytes are not those of {wanted}" + (f" but of {seen}" if seen else ""),
        )
    return wanted


def sniff(data: bytes) -> str | None:
    """The image or document type by its magic bytes; None without a match."""
    return next((kind for kind, fits in MAGIC.items() if fits(data)), None)


def kind_of(media_type: str) -> MediaKind:
    """What a model can do with files of this type."""
    if media_type in DOCUMENTS:
        return MediaKind.DOCUMENT
    if media_type in MAGIC:
        return MediaKind.IMAGE
    if media_type.startswith("text/") or media_type in TEXTS or media_type.endswith(_TEXT_SUFFIXES):
        return MediaKind.TEXT
    return MediaKind.OTHER


def _normal(declared: str, pointer: str) -> str:
    """The declared type in lower case, without parameters, aliases resolved."""
    bare = declared.partition(";")[0].strip().lower()
    if not _WELL_FORMED.fullmatch(bare):
        raise coded_error("assets/invalid_media_type", pointer=pointer)
    return _ALIASES.get(bare, bare)


def _text_type(data: bytes, file_name: str) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return UNKNOWN
    if "\0" in text:
        return UNKNOWN
    return _BY_EXTENSION.get(file_name.rpartition(".")[2].lower(), PLAIN_TEXT)
