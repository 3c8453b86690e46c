"""The skill part of `/v1/status`, and its warnings."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from understudy.daemon.health import warning
from understudy.skills.access import is_live
from understudy.skills.local.roots import LocalCatalogue
from understudy.skills.local.skill import LocalSkill, Warned
from understudy.skills.precedence import name_forms
from understudy.skills.shipped_skills import RefusedSeed
from understudy.skills.sources import NO_OTHERS, OtherSkills
from understudy.storage.unit import Unit, Units

# A folder with a thousand bad skills is reported in a few lines.
MAX_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class SkillReport:
    """Counts skills when it is called."""

    units: Units
    local: Callable[..., LocalCatalogue]
    refused: Callable[[], Sequence[RefusedSeed]]
    # Slugs and numbers of damaged versions.
    damaged: Callable[[], Sequence[tuple[str, int]]] = tuple
    # Promoted skills, which shadow local ones and have no rows here.
    others: OtherSkills = NO_OTHERS
    # Folders with skills that are no roots.
    unread: Callable[[], Sequence[Path]] = tuple

    def __call__(self, *, in_full: bool = False) -> dict[str, Any]:
        """Counts of skills by status and of refused ones; `in_full` names them.

        The names reveal folders of the machine and skills that are not public.
        """
        # Skills in an operator's own root are not counted for others.
        local = self.local(shared=not in_full)
        with self.units.read() as unit:
            counts = unit.skills.counts()
            reserved = self.others.reserved(unit)
            warned = (*local.warnings, *_covered(unit, local.skills, reserved))
        damaged = self.damaged()
        return {
            "skills": {str(status): count for status, count in counts.items()},
            "local": len(local.skills),
            "local_left_out": len(warned),
            "local_warnings": [
                {"path": str(each.path), "code": each.code, "detail": each.detail}
                for each in warned
                if in_full
            ],
            "folders_off": [str(each) for each in self.unread()] if in_full else [],
            "damaged": len(damaged),
            "damaged_versions": [
                {"slug": slug, "version": number} for slug, number in damaged if in_full
            ],
            "shipped_refused": [{"slug": each.slug, "reason": each.why} for each in self.refused()],
        }


def _covered(
    unit: Unit, local: Sequence[LocalSkill], reserved: Mapping[str, str]
) -> Iterator[Warned]:
    """Local skills that are shadowed, at least for users of the other skill."""
    everybodys = [one.skill for one in unit.skills.open_to_everybody()] if local else []
    taken = {word for skill in everybodys for word in name_forms(skill.slug, skill.name)}
    for skill in local:
        promoted = next(filter(None, map(reserved.get, name_forms(skill.slug, skill.name))), None)
        kept = unit.skills.by_slug(skill.slug)
        if kept is not None and is_live(kept):
            detail = f"a kept skill has the slug {skill.slug} and comes first"
            yield Warned(path=skill.path, code="slug_kept", detail=detail)
        elif not taken.isdisjoint(name_forms(skill.slug, skill.name)):
            detail = "a kept skill has its name and comes first"
            yield Warned(path=skill.path, code="name_kept", detail=detail)
        elif promoted is not None:
            yield Warned(path=skill.path, code="name_promoted", detail=promoted)


def skill_warnings(skills: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The warnings about skills."""
    for refused in skills["shipped_refused"]:
        yield warning(
            "warning",
            "shipped_skill_refused",
            f"the shipped skill {refused['slug']} was not brought in: {refused['reason']}",
            related_id=refused["slug"],
            action="rename or delete the skill that has its slug, then restart",
        )
    archived = skills["skills"].get("archived", 0)
    if archived:
        yield warning(
            "info",
            "skills_archived",
            f"skills that cannot be used because something that they need is missing: {archived}",
            action="`understudy skills list --status archived`, then `understudy skills deps install`",
        )
    yield from _damage_warnings(skills)
    yield from _local_warnings(skills)


def _damage_warnings(skills: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if skills["damaged"]:
        named = [f"{each['slug']} {each['version']}" for each in skills["damaged_versions"]]
        which = f" ({', '.join(named[:MAX_SHOWN])})" if named else ""
        yield warning(
            "warning",
            "skill_versions_damaged",
            f"versions of skills that are not as they were kept: {skills['damaged']}{which}",
            action="bring back `skills-store` or the database from a backup, or upload them again",
        )


def _local_warnings(skills: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for folder in skills["folders_off"][:MAX_SHOWN]:
        yield warning(
            "info",
            "skill_folder_off",
            f"nobody is offered the skills in {folder}: it is no skill root, and"
            f" `understudy skills roots add {shlex.quote(folder)}` makes it yours",
            related_id=folder,
            action=f"`understudy skills roots add {shlex.quote(folder)}` offers them to you",
        )
    found = skills["local_warnings"]
    for each in found[:MAX_SHOWN]:
        yield warning(
            "info",
            "local_skill_left_out",
            f"{each['path']}: {each['detail']}",
            related_id=each["path"],
            action="mend or move it; `understudy skills scan` tells what the guard finds",
        )
    if skills["local_left_out"] and not found:
        yield warning(
            "info",
            "local_skills_left_out",
            f"skills in folders of the machine that are left out: {skills['local_left_out']}",
            action="an admin's `understudy status` names them",
        )
