"""What an exported skill carries under `metadata`, put back where it came from."""

from collections.abc import Mapping
from typing import Final

from understudy.core.text import ELLIPSIS
from understudy.skills.bundles.document import Value

# Where an exported skill keeps what the standard has no key for.
PREFIX: Final = "understudy-"
_PLAIN: Final = ("tags", "author", "when-to-use", "deps", "exclude_deps", "slug")
LIFTED: Final[Mapping[str, str]] = {
    **{f"{PREFIX}{key}": key for key in ("name", "description", "compatibility", *_PLAIN)},
    f"{PREFIX}version-label": "version",
}


def lift(given: Mapping[str, Value]) -> Mapping[str, Value]:
    """The fields with those from `metadata` in their own place.

    Only while the export is as it was made: whoever gives the skill another name means that name.
    """
    metadata = given.get("metadata")
    if not isinstance(metadata, Mapping) or not _is_export(given, metadata):
        return given
    lifted = {
        field: metadata[key]
        for key, field in LIFTED.items()
        if key in metadata and _may_replace(field, given.get(field, ""), metadata[key])
    }
    rest = {key: value for key, value in metadata.items() if key not in LIFTED}
    return {**given, "metadata": rest, **lifted}


def _is_export(given: Mapping[str, Value], metadata: Mapping[str, Value]) -> bool:
    slug = metadata.get(f"{PREFIX}slug")
    return slug is not None and given.get("name") == slug


def _may_replace(field: str, given: Value, kept: Value) -> bool:
    """A name, what is not there, and what had to be cut."""
    if field == "name" or not given:
        return True
    return (
        isinstance(given, str)
        and isinstance(kept, str)
        and given.endswith(ELLIPSIS)
        and kept.startswith(given.removesuffix(ELLIPSIS))
    )
