"""A local skill: read from its folder, and as a record in lists."""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from understudy.core.errors import UnderstudyError
from understudy.core.invisible_characters import hidden_in
from understudy.core.page import Page, PageRequest, decode_cursor, encode_cursor
from understudy.skills.bundles.folder import read_file
from understudy.skills.bundles.limits import MAX_MANIFEST_BYTES
from understudy.skills.bundles.manifest import Manifest, ManifestReading, described, read
from understudy.skills.model import (
    KEPT,
    LOCAL,
    Skill,
    SkillFilter,
    SkillOrigin,
    Visibility,
    list_key,
)
from understudy.skills.runtime_settings import RUNTIME_FILE, RuntimeSettings, parse_settings
from understudy.skills.slug import slug_refused, slugify

_MAX_SETTINGS_BYTES = 32_768
# A skill in a root of the config file has no owner: whoever can write to the folder changes it.
LOCAL_OWNER: Final = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """A warning about a file or folder in a root."""

    path: Path
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSkill:
    """A local skill, as its folder is now."""

    name: str
    description: str
    path: Path
    root: Path
    digest: str
    runtime: RuntimeSettings
    manifest: Manifest
    instructions: str = field(repr=False)
    # Digest and size of the bundle and its last change; unset when only SKILL.md was read.
    size: int = 0
    changed_at_ms: int = 0
    # The owner of its root; None for a root of the config file.
    owner_id: str | None = None

    @property
    def slug(self) -> str:
        """The slug in the manifest if it is valid, else one made from the name."""
        written = self.manifest.slug
        return written if slug_refused(written) is None else slugify(self.name)

    @property
    def folder(self) -> Path:
        """The folder of the skill."""
        return self.path.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLoad:
    """A local skill, or None, and warnings."""

    skill: LocalSkill | None = None
    warnings: tuple[Warned, ...] = ()


def load_skill(path: Path, root: Path) -> LocalLoad:
    """Load the skill whose SKILL.md is at `path`; a skill that cannot be used is only a warning."""
    # A symbolic link within the root was resolved before, so none is followed here.
    data = read_file(Path(os.path.realpath(path)), limit=MAX_MANIFEST_BYTES)
    if data is None:
        return unusable(path, "unreadable", "SKILL.md cannot be read")
    if len(data) > MAX_MANIFEST_BYTES:
        return unusable(path, "too_large", f"SKILL.md has more than {MAX_MANIFEST_BYTES} bytes")
    try:
        reading = read(data.decode())
        runtime = _runtime(path.parent, root)
    except UnicodeDecodeError:
        return unusable(path, "not_text", "SKILL.md is not UTF-8 text")
    except UnderstudyError as error:
        return unusable(path, error.code, error.detail)
    return _loaded(reading, runtime, path=path, root=root)


def _loaded(
    reading: ManifestReading, runtime: RuntimeSettings, *, path: Path, root: Path
) -> LocalLoad:
    warnings = tuple(
        Warned(path=path, code=problem.code, detail=str(problem)) for problem in reading.problems
    )
    if any(problem.fatal for problem in reading.problems):
        return LocalLoad(warnings=warnings)
    name = reading.manifest.name or _name(path.parent, root)
    if hidden_in(name) is not None:
        return unusable(path, "hidden_character", "the name holds a hidden character")
    description = described(reading)
    if description:
        warnings = tuple(one for one in warnings if one.code != "description_missing")
    skill = LocalSkill(
        name=name,
        description=description,
        path=path,
        root=root,
        digest=_digest(path, reading.body, runtime),
        runtime=runtime,
        manifest=reading.manifest,
        instructions=reading.body,
    )
    return LocalLoad(skill=skill, warnings=warnings)


def _name(folder: Path, root: Path) -> str:
    """The path of the skill's folder within its root."""
    return ":".join(folder.relative_to(root).parts) or root.name


def _runtime(folder: Path, root: Path) -> RuntimeSettings:
    real = Path(os.path.realpath(folder / RUNTIME_FILE))
    data = read_file(real, limit=_MAX_SETTINGS_BYTES) if real.is_relative_to(root) else None
    return RuntimeSettings() if data is None else parse_settings(data.decode())


def _digest(path: Path, instructions: str, runtime: RuntimeSettings) -> str:
    settings = json.dumps(asdict(runtime), sort_keys=True, ensure_ascii=False)
    whole = "\n".join((str(path), instructions, settings))
    return hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()


def unusable(path: Path, code: str, detail: str) -> LocalLoad:
    """The result of a skill that cannot be used."""
    return LocalLoad(warnings=(Warned(path=path, code=code, detail=detail),))


def record_of(skill: LocalSkill) -> Skill:
    """The record of a local skill: private to the owner of its root; its version is 0."""
    return Skill(
        skill_id=LOCAL + skill.slug,
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        origin=SkillOrigin.LOCAL,
        owner_id=LOCAL_OWNER if skill.owner_id is None else skill.owner_id,
        version=0,
        digest=skill.digest,
        size=skill.size,
        created_at_ms=skill.changed_at_ms,
        updated_at_ms=skill.changed_at_ms,
        visibility=Visibility.PUBLIC if skill.owner_id is None else Visibility.PRIVATE,
        tags=skill.manifest.tags,
        frontmatter=dict(skill.manifest.written),
        context=skill.runtime.context,
    )


def fits(skill: Skill, narrowed: SkillFilter) -> bool:
    """Whether a filter matches a local or promoted skill."""
    asked: tuple[tuple[object, object], ...] = (
        (narrowed.origin, skill.origin),
        (narrowed.visibility, skill.visibility),
        (narrowed.status, skill.status),
        (narrowed.owner_id, skill.owner_id),
        (narrowed.enabled, skill.enabled),
    )
    if any(wanted is not None and wanted != has for wanted, has in asked):
        return False
    words = (skill.slug, skill.name, skill.description, *skill.tags)
    sought = (narrowed.query or "").casefold()
    return any(sought in word.casefold() for word in words)


def merged(rows: Page[Skill], others: Iterable[Skill], request: PageRequest) -> Page[Skill]:
    """A page of stored skills merged with the unstored ones that sort between them."""
    last = None if rows.next_cursor is None else decode_cursor(rows.next_cursor)
    between = [
        skill
        for skill in others
        if (request.after is None or _place(skill) > request.after)
        and (last is None or _place(skill) <= last)
    ]
    together = sorted((*rows.items, *between), key=_place)
    shown = tuple(together[: request.limit])
    if len(together) > len(shown):
        return Page(items=shown, next_cursor=encode_cursor(_place(shown[-1])))
    return Page(items=shown, next_cursor=rows.next_cursor)


def _place(skill: Skill) -> tuple[str, str]:
    """The sort key of an unstored skill: right behind a stored one of the same name and slug."""
    name, slug = list_key(skill)
    # A space sorts before every character of a slug, and no slug contains one.
    return (name, slug) if skill.origin in KEPT else (name, f"{slug} ")
