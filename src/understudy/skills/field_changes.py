"""What may be changed of a skill beside its files: name, description, tags, visibility."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from understudy.core.errors import FieldError, UnderstudyError, coded_error
from understudy.guard.scan import scan_text
from understudy.skills import errors
from understudy.skills.bundles.document import Value
from understudy.skills.bundles.manifest import MAX_NAME_CHARS
from understudy.skills.change import SkillChange
from understudy.skills.fields import WrongValue, line, text, words
from understudy.skills.lifecycle import VISIBILITY
from understudy.skills.model import Skill, Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFieldChanges:
    """The values to set; None leaves what is there."""

    name: str | None = None
    description: str | None = None
    tags: tuple[str, ...] | None = None
    visibility: Visibility | None = None


def _name(value: Value) -> str:
    found = line(MAX_NAME_CHARS)(value)
    if not found:
        raise WrongValue("cannot be empty")
    return found


_READ: Final[Mapping[str, Callable[[Value], object]]] = {
    "name": _name,
    "description": text,
    "tags": words,
}
_Denial = Callable[[], UnderstudyError]
# What becomes of it: (as it is public or not, what is asked for, whether anybody has a grant).
_ASKED: Final[Mapping[tuple[bool, Visibility, bool], Visibility | _Denial]] = {
    (True, Visibility.PUBLIC, True): Visibility.PUBLIC,
    (True, Visibility.PUBLIC, False): Visibility.PUBLIC,
    (True, Visibility.INTERNAL, True): Visibility.INTERNAL,
    (True, Visibility.INTERNAL, False): Visibility.PRIVATE,
    (True, Visibility.PRIVATE, True): partial(coded_error, "skills/skill_has_grants"),
    (True, Visibility.PRIVATE, False): Visibility.PRIVATE,
    (False, Visibility.PUBLIC, True): Visibility.PUBLIC,
    (False, Visibility.PUBLIC, False): Visibility.PUBLIC,
    (False, Visibility.INTERNAL, True): Visibility.INTERNAL,
    (False, Visibility.INTERNAL, False): partial(coded_error, "skills/skill_has_no_grants"),
    (False, Visibility.PRIVATE, True): partial(coded_error, "skills/skill_has_grants"),
    (False, Visibility.PRIVATE, False): Visibility.PRIVATE,
}


def checked(changes: SkillFieldChanges) -> dict[str, Any]:
    """The words to set, each as a SKILL.md could have said it; `Invalid` with every wrong one."""
    values: dict[str, Any] = {}
    wrong: list[FieldError] = []
    for name, read in _READ.items():
        given = getattr(changes, name)
        if given is None:
            continue
        try:
            values[name] = read(given)
        except WrongValue as error:
            detail = f"{name} {error}"
            wrong.append(FieldError(pointer=f"/{name}", code="invalid_field", detail=detail))
    if wrong:
        raise errors.bad_changes(tuple(wrong))
    _refuse_unsafe(values)
    return values


def _refuse_unsafe(values: Mapping[str, Any]) -> None:
    """Prompts show these words in place of those of SKILL.md, so the guard reads them as well."""
    found = [
        finding
        for name, value in values.items()
        for finding in scan_text(value if isinstance(value, str) else " ".join(value), path=name)
    ]
    if found:
        raise errors.unsafe(found)


def update(change: SkillChange, skill: Skill, changes: SkillFieldChanges) -> Skill:
    """Set the given values; what is so already is no change."""
    values = checked(changes)
    if changes.visibility is not None:
        values["visibility"] = _visibility(change, skill, changes.visibility)
    if all(getattr(skill, name) == value for name, value in values.items()):
        return skill
    change.require_name(skill.slug, values.get("name", skill.name), skill)
    changed = change.save(skill, **values)
    change.record("skills.update", changed, ", ".join(values))
    return changed


def _visibility(change: SkillChange, skill: Skill, asked: Visibility) -> Visibility:
    is_public = skill.visibility is Visibility.PUBLIC
    if asked is skill.visibility:
        return asked
    if is_public is not (asked is Visibility.PUBLIC) and not change.author.is_admin:
        raise coded_error("skills/skill_visibility_needs_admin")
    granted = change.unit.skill_grants.counts(skill.skill_id).any
    found = _ASKED[is_public, asked, granted]
    if not isinstance(found, Visibility):
        raise found()
    VISIBILITY.check(skill.visibility, found)
    return found
