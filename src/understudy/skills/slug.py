"""The slug of a skill: unique, valid as a folder name and as a part of a URL."""

import hashlib
import re
import unicodedata
from typing import Final

from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.text import LATIN, quoted
from understudy.skills.bundles.paths import is_device

MIN_SLUG_CHARS: Final = 2
MAX_SLUG_CHARS: Final = 64
_SHAPE: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OTHER: Final = re.compile(r"[^a-z0-9]+")
_HASH_CHARS: Final = 8
SLUG_RESERVED: Final = "this slug is reserved"
# Words that API paths use, or may use, in the place of a slug.
RESERVED: Final = frozenset(
    {
        *("upload", "rescan-deps", "install-deps", "install-dep", "runtimes"),
        *("access", "diff", "export", "files", "grants", "import", "install", "local", "new"),
        *("restore", "roots", "scan", "search", "toggle", "trash", "validate", "versions"),
    }
)


def slug_refused(slug: str) -> str | None:
    """Why a text is not a valid slug; None when it is."""
    if not MIN_SLUG_CHARS <= len(slug) <= MAX_SLUG_CHARS:
        return f"a slug has {MIN_SLUG_CHARS} to {MAX_SLUG_CHARS} characters"
    if _SHAPE.fullmatch(slug) is None:
        return "a slug is made of a-z, 0-9 and single hyphens between them"
    return SLUG_RESERVED if slug in RESERVED or is_device(slug) else None


def check_slug(slug: str, *, pointer: str = "/slug") -> str:
    """The slug itself, or `Invalid`."""
    cause = slug_refused(slug)
    if cause is not None:
        raise slug_error(slug, cause, pointer=pointer)
    return slug


def slug_error(slug: str, cause: str, *, pointer: str = "/slug") -> UnderstudyError:
    """The error of a slug that no skill of the caller can have."""
    return coded_error("skills/invalid_slug", pointer=pointer, detail=f"{quoted(slug)}: {cause}")


def slugify(name: str) -> str:
    """A slug for a name; names that differ in more than case and punctuation get different ones.

    A name that a-z cannot express gets a short hash as a suffix.
    """
    whole = unicodedata.normalize("NFKC", name).casefold()
    plain = _OTHER.sub("-", _folded(whole)).strip("-")
    exact = all(
        char.isascii() or not char.isalnum() for char in unicodedata.normalize("NFC", whole)
    )
    if exact and slug_refused(plain) is None:
        return plain
    return _marked(whole, plain)


def other_slug(name: str, owner_id: str) -> str:
    """Another slug for the name of an owner, as for a name whose own slug is reserved."""
    whole = unicodedata.normalize("NFKC", name).casefold()
    return _marked(f"{owner_id}/{whole}", _OTHER.sub("-", _folded(whole)).strip("-"))


def _marked(whole: str, plain: str) -> str:
    mark = hashlib.sha256(whole.encode(errors="replace")).hexdigest()[:_HASH_CHARS]
    room = MAX_SLUG_CHARS - _HASH_CHARS - 1
    start = plain[:room].strip("-") or "skill"
    return f"{start}-{mark}"


def slug_for(*, given: str | None, written: str, name: str, pointer: str = "/slug") -> str:
    """The slug of a new skill: the one asked for, else the one in its manifest, else its name's."""
    if given:
        return check_slug(given, pointer=pointer)
    return check_slug(written, pointer="/content") if written else slugify(name)


def _folded(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.translate(LATIN))
    return "".join(char for char in apart if not unicodedata.combining(char))
