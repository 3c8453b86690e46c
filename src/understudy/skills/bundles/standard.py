"""Export in the format of the Agent Skills standard: six keys, our fields under `metadata`."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from understudy.core.text import BYTE_ORDER_MARK, ELLIPSIS
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.document import FENCE, Value, read_front_matter
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.bundles.manifest import (
    PREFIX,
    Manifest,
    ManifestReading,
    described,
    lift,
    read,
)
from understudy.skills.fields import as_text
from understudy.skills.slug import check_slug

MAX_DESCRIPTION_CHARS: Final = 1024
MAX_COMPATIBILITY_CHARS: Final = 500
# A plain YAML scalar that every parser reads as text.
_PLAIN: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9 ,./()_-]*[A-Za-z0-9.)])?")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_KEYWORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
# Some parsers end the front matter at three hyphens anywhere.
_HYPHENS: Final = "---"
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Name, description and tags of a skill, which may be set independently of its file."""

    name: str
    description: str
    tags: tuple[str, ...]


def export(
    bundle: Bundle,
    *,
    slug: str,
    facts: Mapping[str, str] | None = None,
    words: Words | None = None,
) -> dict[str, bytes]:
    """The files of a bundle with a SKILL.md that every parser of the standard accepts.

    `facts` are fields from the database, such as version, model or fingerprint. They can make a
    SKILL.md exceed our limit, so this is no `Bundle`. `words` replace those of the file.
    """
    text = export_text(bundle.manifest_text, slug=slug, facts=facts, words=words)
    return {**bundle, MANIFEST: text.encode()}


def export_text(
    content: str,
    *,
    slug: str,
    facts: Mapping[str, str] | None = None,
    words: Words | None = None,
) -> str:
    """A SKILL.md with only the keys of the standard; its folder has to be named `slug`."""
    reading = read(content)
    described_as = described(reading) if words is None else words.description
    manifest = _in_words(reading, words)
    description = described_as or manifest.name or slug
    fields: dict[str, str] = {
        "name": check_slug(slug),
        "description": _cut(description, MAX_DESCRIPTION_CHARS),
        "license": manifest.license,
        "compatibility": _cut(manifest.compatibility, MAX_COMPATIBILITY_CHARS),
        "allowed-tools": " ".join(manifest.allowed_tools),
    }
    lines = [f"{key}: {scalar(value)}" for key, value in fields.items() if value]
    metadata = _metadata(manifest, slug=slug, facts=facts or {})
    if metadata:
        lines.append("metadata:")
        lines += [f"  {_key(key)}: {scalar(value)}" for key, value in metadata.items()]
    return "\n".join(["---", *lines, "---", reading.body])


def with_fields(content: str, said: Mapping[str, str | tuple[str, ...]]) -> str:
    """A SKILL.md with other values of some fields; the rest stays as it is written.

    The fields of an export, and of front matter on one line, are written anew.
    """
    front = read_front_matter(content)
    given, at = front.document.values, front.document.lines
    fields = lift(given)
    if fields is given and len(set(at.values())) == len(at) > 0:
        lines = content.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").split("\n")
        keys = sorted(at, key=lambda key: at[key])
        starts = [*(at[key] - 1 for key in keys), lines.index(FENCE, 1)]
        parts = ("\n".join(lines[start:end]) for start, end in pairwise(starts))
        old = dict(zip(keys, parts, strict=True))
    else:
        old = {key: f"{_key(key)}: {_flow(value)}" for key, value in fields.items()}
    new = {key: f"{key}: {_flow(value)}" for key, value in said.items()}
    return "\n".join([FENCE, *{**old, **new}.values(), FENCE, front.body])


def _flow(value: Value) -> str:
    """A value as YAML on one line."""
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {_item(it)}" for key, it in value.items()) + "}"
    return "[" + ", ".join(map(_item, value)) + "]"


def _item(value: Value) -> str:
    is_apart = isinstance(value, str) and "," in value
    return json.dumps(value, ensure_ascii=False) if is_apart else _flow(value)


def _in_words(reading: ManifestReading, words: Words | None) -> Manifest:
    manifest = reading.manifest
    if words is None:
        return manifest
    # A description that is the body's first paragraph need not be repeated.
    is_told = words.description == described(reading)
    description = manifest.description if is_told else words.description
    return replace(manifest, name=words.name, description=description, tags=words.tags)


def scalar(value: str) -> str:
    """A text as a YAML scalar on one line that every parser reads as this text."""
    if _PLAIN.fullmatch(value) and value.lower() not in _KEYWORDS and _HYPHENS not in value:
        return value
    quoted = "".join(_ESCAPES.get(char) or _escaped(char) for char in value)
    return f'"{quoted.replace(_HYPHENS, "--" + chr(92) + "x2d")}"'


def _escaped(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\U{code:08x}"


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) and _HYPHENS not in key else scalar(key)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def _metadata(manifest: Manifest, *, slug: str, facts: Mapping[str, str]) -> dict[str, str]:
    """The fields that the standard has no key or too little room for."""
    ours = {
        "name": manifest.name if manifest.name != slug else "",
        "slug": slug,
        "description": _if_longer(manifest.description, MAX_DESCRIPTION_CHARS),
        "compatibility": _if_longer(manifest.compatibility, MAX_COMPATIBILITY_CHARS),
        "tags": ", ".join(manifest.tags),
        "version-label": manifest.version_label,
        "author": manifest.author,
        "when-to-use": manifest.when_to_use,
        "exclude_deps": ", ".join(manifest.exclude_deps),
        **{f"field-{key}": as_text(value) for key, value in manifest.extra.items()},
        **facts,
    }
    kept = {PREFIX + key: value for key, value in ours.items() if value}
    # An empty list is meaningful: it has no dependencies.
    deps = {} if manifest.deps is None else {PREFIX + "deps": ", ".join(manifest.deps)}
    return dict(sorted({**manifest.metadata, **kept, **deps}.items()))


def _if_longer(text: str, limit: int) -> str:
    return text if len(text) > limit else ""
