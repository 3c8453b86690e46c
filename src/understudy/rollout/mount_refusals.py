"""Why the files of a promoted skill are not kept, or not used, in words and codes."""

from collections.abc import Sequence
from typing import Final

from understudy.core.errors import Conflict, FieldError, Invalid, Unsafe
from understudy.guard.rule import Finding
from understudy.rollout.files import field_at
from understudy.rollout.model import Definition, Rollout

# A caller is told this many findings.
MAX_FINDINGS: Final = 100


def unsafe_definition(definition: Definition, findings: Sequence[Finding]) -> Unsafe:
    """The content guard found something; each finding names the field that it stands in."""
    errors = tuple(
        FieldError(
            pointer=f"/{field_at(definition, one.path, one.line)}",
            code=one.rule_id,
            detail=one.reason,
        )
        for one in findings[:MAX_FINDINGS]
    )
    told = "; ".join(dict.fromkeys(f"{each.detail} ({each.code})" for each in errors))
    return Unsafe("unsafe_definition", domain="rollout", detail=told, errors=errors)


def unreadable_definition() -> Invalid:
    """Written down it would say something else than was sent."""
    return Invalid(
        "unreadable_definition",
        domain="rollout",
        pointer="/instructions",
        detail="the files of the skill would not say what was sent; make it shorter or plainer",
    )


def drifted(rollout: Rollout) -> Conflict:
    """Somebody changed or removed the files behind the record's back."""
    return Conflict(
        "rollout_drifted",
        domain="rollout",
        detail=f"mismatch: the files of skill {rollout.skill_name} are not as its record says, so"
        " it is not used; they are written anew when the daemon starts",
        params={"skill_name": rollout.skill_name},
    )
