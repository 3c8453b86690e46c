"""Why a change of a skill, or a look at one, is denied to its caller, in words and codes."""

from collections.abc import Sequence
from typing import Final

from understudy.core.errors import (
    FieldError,
    UnderstudyError,
    coded_error,
)
from understudy.core.pointer import pointer
from understudy.core.text import and_more, quoted
from understudy.guard.rule import Finding
from understudy.guard.scan import is_whole
from understudy.skills.bundles.limits import MANIFEST

# A caller is told this many findings; `understudy skills scan` tells more.
MAX_FINDINGS: Final = 100


def bad_changes(errors: tuple[FieldError, ...]) -> UnderstudyError:
    """Values that a skill cannot have."""
    detail = "; ".join(error.detail for error in errors)
    return coded_error("skills/invalid_skill", errors=errors, detail=detail)


def unsafe(findings: Sequence[Finding], *, hint: str = "") -> UnderstudyError:
    """The guard found something; every line of it is named."""
    told = findings[:MAX_FINDINGS]
    more = len(findings) - len(told)
    lines = [f"{_where(one)}line {one.line}: {one.reason} ({one.rule_id})" for one in told]
    if is_whole(findings):
        lines = and_more(lines, more)
    elif more:
        lines.append("and many more")
    return coded_error(
        "skills/skill_unsafe",
        errors=tuple(
            FieldError(
                pointer=pointer(("files", one.path)),
                code=one.rule_id,
                detail=f"{one.path} line {one.line}: {one.reason}",
            )
            for one in told
        ),
        detail="; ".join(lines) + hint,
    )


def _where(finding: Finding) -> str:
    return "" if finding.path == MANIFEST else f"{finding.path} "


def bad_archive(cause: str, *, entry: str | None = None) -> UnderstudyError:
    """The archive is none that we read."""
    where = f"{quoted(entry)}: " if entry is not None else ""
    return coded_error("skills/invalid_archive", pointer="/file", detail=where + cause)


def archive_too_large(cause: str, *, limit: int, entry: str | None = None) -> UnderstudyError:
    """The archive, or what comes out of it, is too much."""
    where = f"{quoted(entry)}: " if entry is not None else ""
    return coded_error("skills/archive_too_large", detail=where + cause, limit=limit)


def bundle_too_large(cause: str, *, limit: int) -> UnderstudyError:
    """A bundle has too many files or bytes."""
    return coded_error("skills/bundle_too_large", detail=cause, limit=limit)


def missing_manifest_error(cause: str) -> UnderstudyError:
    """There is no SKILL.md where one has to be."""
    return coded_error("skills/skill_manifest_missing", pointer="/file", detail=cause)


def bad_front_matter(errors: tuple[FieldError, ...]) -> UnderstudyError:
    """The front matter cannot be read."""
    detail = "; ".join(error.detail for error in errors)
    return coded_error("skills/invalid_front_matter", errors=errors, detail=detail)


def bad_manifest(errors: tuple[FieldError, ...]) -> UnderstudyError:
    """A field of the front matter is not what it has to be."""
    detail = "; ".join(error.detail for error in errors)
    return coded_error("skills/invalid_manifest", errors=errors, detail=detail)


def bad_settings(errors: tuple[FieldError, ...]) -> UnderstudyError:
    """The runtime settings of a skill are wrong."""
    detail = "; ".join(error.detail for error in errors)
    return coded_error("skills/invalid_runtime_settings", errors=errors, detail=detail)


def bad_slug(cause: str, *, pointer: str) -> UnderstudyError:
    """The slug is none that a skill may have."""
    return coded_error("skills/invalid_slug", pointer=pointer, detail=cause)
