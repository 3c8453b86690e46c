"""A bundle on its way to become a version: checked in one order, before anything is held or written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.skills import content_errors
from understudy.skills.acknowledging import Acknowledged
from understudy.skills.author import Author
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.bundles.manifest import Manifest, Reading, check_not_blank, parse
from understudy.skills.dependencies.availability import LocalMachine, missing
from understudy.skills.dependencies.requirements import find_requirements
from understudy.skills.guarding import ContentGuard
from understudy.skills.runtime_settings import settings_of
from understudy.skills.slug import slug_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A bundle that may be kept, and what it says of itself."""

    slug: str
    bundle: Bundle
    reading: Reading
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
        raise content_errors.not_text(MANIFEST, pointer=pointer) from None


def bundle_of(content: str, *, pointer: str = "/content") -> Bundle:
    """A skill that is its SKILL.md and nothing else."""
    check_not_blank(content, pointer=pointer)
    return Bundle({MANIFEST: written(content, pointer=pointer)})
