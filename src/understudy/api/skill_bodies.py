"""What callers sent about skills, in the words of the domain."""

from collections.abc import Sequence

from understudy.core.errors import Invalid
from understudy.skills.acknowledgement import Acknowledged
from understudy.wire.skill_requests import AcknowledgedFinding


def acknowledged(given: Sequence[AcknowledgedFinding]) -> tuple[Acknowledged, ...]:
    """The findings that a caller takes upon themselves."""
    return tuple(Acknowledged(**finding.model_dump()) for finding in given)


def grantee(field: str, in_query: str | None, in_body: str | None) -> str:
    """Whose grant is meant, said in one of two places."""
    named = {name for name in (in_query, in_body) if name}
    where = f"name one {field}: in the path, in the query or in the body"
    if not named:
        raise Invalid("grantee_missing", domain="skills", pointer=f"/{field}", detail=where)
    if len(named) > 1:
        raise Invalid("grantee_ambiguous", domain="skills", pointer=f"/{field}", detail=where)
    return named.pop()
