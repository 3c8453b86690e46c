"""What a model is told of a change that it made to a skill, and what it can do next."""

from collections.abc import Sequence
from typing import Final

from understudy.core.text import and_more, quoted
from understudy.skills.dependencies.availability import next_steps
from understudy.skills.model import TrashedSkill
from understudy.skills.versions import StoredSkill

# How many names are told where there may be many.
TOLD: Final = 10


def created(kept: StoredSkill) -> str:
    """A skill that was made from one text, or has a new version."""
    return _sentences(_kept(kept), _granted(kept), _missing(kept.missing))


def published(kept: StoredSkill, *, files: int, left_out: Sequence[str]) -> str:
    """A skill that was made from a folder."""
    counted = "" if kept.unchanged else f"It has {files} file{'' if files == 1 else 's'}."
    without = f"Left out as links or devices: {listed(left_out)}." if left_out else ""
    return _sentences(_kept(kept), counted, without, _granted(kept), _missing(kept.missing))


def patched(kept: StoredSkill) -> str:
    """A skill in which some text was replaced."""
    slug, number = kept.skill.slug, kept.version.number
    if kept.unchanged:
        return (
            f"Nothing changed: skill {slug} would be as it is. It stays at version {number}; "
            "look at find and replace again."
        )
    changed = f"Patched skill {slug}, now version {number}: {_places(kept)} changed."
    return _sentences(changed, _others(kept), _missing(kept.missing))


def deleted(trashed: TrashedSkill) -> str:
    """A skill that is no more."""
    return (
        f"Deleted skill {trashed.skill.slug} and its grants. Its versions are kept in the trash as "
        f"{trashed.trash_name}; a person can restore it."
    )


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = len(names) - TOLD
    told = ", ".join(quoted(name) for name in names[:TOLD])
    return f"{told} and {more} more" if more > 0 else told


def missing_deps(missing: Sequence[str]) -> str:
    """What a skill needs and this machine does not have, and who can do what about it."""
    steps = and_more(next_steps(missing[:TOLD]), len(missing) - TOLD)
    return f"Missing on this machine: {'; '.join(steps)}."


def _kept(kept: StoredSkill) -> str:
    skill, number = kept.skill, kept.version.number
    if kept.unchanged:
        # It may well be granted only now, so this does not say that nothing changed.
        return f"The content of skill {skill.slug} was this very one already, in version {number}."
    verb = "Created" if number == 1 else "Kept a new version of"
    return f"{verb} skill {skill.slug} ({quoted(skill.name)}), version {number}."


def _granted(kept: StoredSkill) -> str:
    if not kept.granted:
        return "It is not granted to you: ask a person to grant it."
    return f"It is granted to you; from your next turn on, call use_skill with {kept.skill.slug}."


def _missing(missing: Sequence[str]) -> str:
    return missing_deps(missing) if missing else ""


def _places(kept: StoredSkill) -> str:
    return "1 place" if kept.replaced == 1 else f"{kept.replaced} places"


def _others(kept: StoredSkill) -> str:
    if kept.replaced >= kept.matches:
        return ""
    return (
        f"find occurs {kept.matches} times and only the first was replaced; if you meant another, "
        "patch again with more of the text around it, or with replace_all."
    )


def _sentences(*said: str) -> str:
    return " ".join(sentence for sentence in said if sentence)
