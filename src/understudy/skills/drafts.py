"""A bundle on its way to become a version: checked in one order, before anything is held or written."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.core.errors import coded_error
from understudy.skills.acknowledgement import Acknowledged
from understudy.skills.authority import Author
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.limits import MANIFEST, MAX_MANIFEST_BYTES
from understudy.skills.bundles.manifest import Manifest, ManifestReading, check_not_blank, parse
from understudy.skills.content_gate import ContentGuard
from understudy.skills.dependencies.availability import LocalMachine, missing
from understudy.skills.dependencies.requirements import find_requirements
from understudy.skills.runtime_settings import settings_of
from understudy.skills.slug import slug_for

if TYPE_CHECKING:
    from understudy.storage.unit import Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A bundle that may be kept, and what it says of itself."""

    slug: str
    bundle: Bundle
    reading: ManifestReading
    # Findings of the guard that an admin takes as they are.
    acknowledged: tuple[Acknowledged, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def manifest(self) -> Manifest:
        """What stands above its instructions."""
        return self.reading.manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting:
    """Makes drafts; it takes as long as the guard does, so not within a transaction if it can be."""

    guard: ContentGuard
    machine_for: Callable[[str], LocalMachine]

    def draft(
        self,
        bundle: Bundle,
        author: Author,
        *,
        slug: str | None,
        acknowledged: Sequence[Acknowledged] = (),
        pointer: str = "/content",
    ) -> Draft:
        """Not blank, safe, readable, named, with a slug: the first that fails is told."""
        text = bundle.manifest_text
        check_not_blank(text, pointer=pointer)
        taken = self.guard.check(bundle, author, acknowledged)
        reading = parse(text, pointer=pointer)
        manifest = reading.manifest
        settings_of(bundle)
        slug = slug_for(given=slug, written=manifest.slug, name=manifest.name)
        needed = find_requirements(bundle, manifest)
        return Draft(
            slug=slug,
            bundle=bundle,
            reading=reading,
            acknowledged=taken,
            missing=missing(needed, self.machine_for(slug)),
        )


def written(content: str, *, pointer: str) -> bytes:
    """The bytes of a text; half a character has none."""
    try:
        return content.encode()
    except UnicodeEncodeError:
        raise coded_error("skills/skill_not_text", pointer=pointer, path=MANIFEST) from None


def bundle_of(content: str, *, pointer: str = "/content") -> Bundle:
    """A skill that is its SKILL.md and nothing else."""
    check_not_blank(content, pointer=pointer)
    return Bundle({MANIFEST: written(content, pointer=pointer)})


@contextmanager
def staged(units: "Units", bundle: Bundle) -> Iterator[None]:
    """While a bundle may become a version; what did not is gone afterwards."""
    with units.read() as unit:
        unit.skill_bundles.stage(bundle)
    try:
        yield
    finally:
        with units.read() as unit:
            unit.skill_bundles.unstage(bundle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """What to look for and what to put there; without `replace_all` only the first is replaced."""

    find: str
    replace: str
    replace_all: bool = False
    # Refuse a text that is there more than once, unless all are meant.
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """The text as it is then, how often the searched text was in it, and how many were replaced."""

    text: str
    matches: int
    replaced: int


def check_patch(patch: Patch) -> None:
    """Refuse a patch that does not say where."""
    if not patch.find:
        raise coded_error("skills/skill_find_missing", pointer="/find")
    written(patch.find, pointer="/find")
    written(patch.replace, pointer="/replace")


def patched(text: str, patch: Patch) -> Patched:
    """The text with the patch in it, or why it cannot be."""
    matches = text.count(patch.find)
    if matches == 0:
        raise coded_error("skills/skill_text_not_found")
    if patch.strict and matches > 1 and not patch.replace_all:
        raise coded_error("skills/skill_text_ambiguous", matches=matches)
    replaced = matches if patch.replace_all else 1
    # Before it is made: a hundred thousand replacements of a hundred kilobytes each fit nowhere.
    growth = len(patch.replace.encode()) - len(patch.find.encode())
    size = len(text.encode()) + replaced * growth
    if size > MAX_MANIFEST_BYTES:
        raise coded_error("skills/skill_too_large", size_bytes=size, limit_bytes=MAX_MANIFEST_BYTES)
    changed = text.replace(patch.find, patch.replace, replaced)
    return Patched(text=changed, matches=matches, replaced=replaced)
