"""Why a change of a skill, or a look at one, is denied to its caller, in words and codes."""

from collections.abc import Sequence
from typing import Final

from understudy.core.errors import (
    Conflict,
    DamagedRecord,
    FieldError,
    Invalid,
    LimitExceeded,
    NotFound,
    Rejected,
    Unavailable,
    Unsafe,
)
from understudy.core.pointer import pointer
from understudy.core.text import and_more, quoted
from understudy.guard.rule import Finding
from understudy.guard.scan import is_whole
from understudy.skills.bundles.limits import MANIFEST

# A caller is told this many findings; `understudy skills scan` tells more.
MAX_FINDINGS: Final = 100


def skill_not_found_error(ref: str) -> NotFound:
    """No such skill, or none that the caller may know of: the same words for both."""
    return NotFound("skill_not_found", domain="skills", detail=f"there is no skill {quoted(ref)}")


def version_not_found(slug: str, number: int) -> NotFound:
    """The skill never had this version, or had it before it was deleted."""
    return NotFound(
        "skill_version_not_found",
        domain="skills",
        detail=f"skill {slug!r} has no version {number}",
    )


def file_not_found(slug: str, path: str) -> NotFound:
    """The version has no such file, or none that can be shown."""
    return NotFound(
        "skill_file_not_found",
        domain="skills",
        detail=f"skill {slug!r} has no file {quoted(path)}",
    )


def bad_ref(ref: str) -> Invalid:
    """Neither an id nor a slug."""
    return Invalid(
        "invalid_skill_ref",
        domain="skills",
        detail=f"{quoted(ref)} is neither the id of a skill nor a slug",
    )


def unknown_user_error() -> Invalid:
    """A change by nobody: what it makes would have no owner."""
    return Invalid(
        "skill_user_missing", domain="skills", detail="a skill is changed on behalf of a user"
    )


def not_owner_error(ref: str) -> Rejected:
    """Somebody else's skill, named as the caller did: an id does not tell a slug."""
    return Rejected(
        "skill_not_yours",
        domain="skills",
        detail=f"only its owner or an admin may do this with skill {quoted(ref)}",
    )


def system_skill_error(slug: str) -> Rejected:
    """A skill that came with the product."""
    return Rejected(
        "skill_is_system",
        domain="skills",
        detail=f"skill {slug!r} came with the product and cannot be changed;"
        " an admin may switch it off",
    )


def local_skill_error(ref: str) -> Rejected:
    """A skill that is a folder of this machine."""
    return Rejected(
        "skill_is_local",
        domain="skills",
        detail=f"{quoted(ref)} is a folder of this machine; change it there",
    )


def promoted_skill_error(ref: str) -> Rejected:
    """A skill that a procedure was promoted to."""
    return Rejected(
        "skill_is_promoted",
        domain="skills",
        detail=f"{quoted(ref)} was promoted from a learning; change it through its rollout",
    )


def promoted_name(name: str) -> Conflict:
    """A kept skill that could be taken for one that was promoted, or is on its way to be."""
    return Conflict(
        "skill_name_promoted",
        domain="skills",
        detail=f"{quoted(name)} is the name of a promoted skill; choose another name and slug",
    )


def system_slug(slug: str) -> Conflict:
    """A new skill under the name of one that came with the product."""
    return Conflict(
        "skill_slug_is_system",
        domain="skills",
        detail=f"{slug!r} is a skill that came with the product; choose another slug",
    )


def slug_taken(slug: str) -> Rejected:
    """A new skill under the name of somebody else's."""
    return Rejected(
        "skill_slug_taken",
        domain="skills",
        detail=f"{slug!r} belongs to somebody else; choose another slug",
    )


def slug_in_use(slug: str) -> Conflict:
    """What lies in the trash cannot come back beside what was made since."""
    return Conflict(
        "skill_slug_in_use",
        domain="skills",
        detail=f"there is a skill {slug!r} again; delete it first",
    )


def slug_changed(slug: str, *, at: str) -> Invalid:
    """A new version under another name."""
    return Invalid(
        "skill_slug_changed",
        domain="skills",
        pointer=at,
        detail=f"a skill keeps its slug; this one is {slug!r}",
    )


def missing_find_error() -> Invalid:
    """A patch that does not say where."""
    return Invalid(
        "skill_find_missing",
        domain="skills",
        pointer="/find",
        detail='"find" is the exact text to replace',
    )


def text_not_found() -> Conflict:
    """A patch of what SKILL.md does not say."""
    return Conflict(
        "skill_text_not_found",
        domain="skills",
        detail='SKILL.md does not hold the text of "find"; nothing was changed',
    )


def text_ambiguous(matches: int) -> Conflict:
    """A patch of what SKILL.md says more than once."""
    return Conflict(
        "skill_text_ambiguous",
        domain="skills",
        detail=f'SKILL.md holds the text of "find" {matches} times;'
        " give more of what is around it, or replace all",
        params={"matches": matches},
    )


def changed(slug: str, version: int) -> Conflict:
    """Not the version that the caller knew."""
    return Conflict(
        "skill_changed",
        domain="skills",
        detail=f"skill {slug!r} changed meanwhile; it is at version {version}",
        params={"version": version},
    )


def admin_required_error() -> Rejected:
    """Only admins decide what everybody may use."""
    return Rejected(
        "skill_visibility_needs_admin",
        domain="skills",
        detail="only an admin may make a skill public, or no longer public",
    )


def grants_remain_error() -> Conflict:
    """It cannot be private while others have it."""
    return Conflict(
        "skill_has_grants",
        domain="skills",
        detail="it is granted to others; revoke the grants first",
    )


def no_grants_error() -> Conflict:
    """It cannot be internal while nobody has it."""
    return Conflict(
        "skill_has_no_grants",
        domain="skills",
        detail="it becomes internal with its first grant",
    )


def bad_user() -> Invalid:
    """Not what a user can be called."""
    return Invalid(
        "invalid_user_id",
        domain="skills",
        pointer="/user_id",
        detail="a user id has 1 to 255 printable characters",
    )


def bad_changes(errors: tuple[FieldError, ...]) -> Invalid:
    """Values that a skill cannot have."""
    detail = "; ".join(error.detail for error in errors)
    return Invalid("invalid_skill", domain="skills", detail=detail, errors=errors)


def unsafe(findings: Sequence[Finding], *, hint: str = "") -> Unsafe:
    """The guard found something; every line of it is named."""
    told = findings[:MAX_FINDINGS]
    more = len(findings) - len(told)
    lines = [f"{_where(one)}line {one.line}: {one.reason} ({one.rule_id})" for one in told]
    if is_whole(findings):
        lines = and_more(lines, more)
    elif more:
        lines.append("and many more")
    return Unsafe(
        "skill_unsafe",
        domain="skills",
        detail="; ".join(lines) + hint,
        errors=tuple(
            FieldError(
                pointer=pointer(("files", one.path)),
                code=one.rule_id,
                detail=f"{one.path} line {one.line}: {one.reason}",
            )
            for one in told
        ),
    )


def nothing_to_acknowledge(cause: str) -> Invalid:
    """Somebody answers for what the guard did not find."""
    return Invalid(
        "acknowledgement_unmatched",
        domain="skills",
        pointer="/acknowledged",
        detail=f"{cause}; nothing was kept",
    )


def guard_busy() -> Unavailable:
    """The guard reads as many skills as it can at a time, or the daemon is stopping."""
    return Unavailable(
        "guard_busy",
        domain="skills",
        detail="the guard is reading other skills; nothing was kept, try again in a moment",
    )


def damaged(slug: str, number: int) -> DamagedRecord:
    """The error for a version that is lost, or not as it was put."""
    return DamagedRecord(
        "skill_bundle_damaged",
        domain="skills",
        detail=f"version {number} of skill {slug!r} is not as it was kept",
    )


def number_taken(slug: str, number: int) -> Conflict:
    """The error for a number that a version has, or had."""
    return Conflict(
        "skill_version_taken",
        domain="skills",
        detail=f"there is a version {number} of skill {slug!r} already",
    )


def trash_missing(trash_name: str) -> NotFound:
    """The error for what is not in the trash."""
    return NotFound(
        "skill_trash_not_found", domain="skills", detail=f"nothing in the trash is {trash_name!r}"
    )


def _where(finding: Finding) -> str:
    return "" if finding.path == MANIFEST else f"{finding.path} "


def bad_archive(cause: str, *, entry: str | None = None) -> Invalid:
    """The archive is none that we read."""
    where = f"{quoted(entry)}: " if entry is not None else ""
    return Invalid("invalid_archive", domain="skills", pointer="/file", detail=where + cause)


def bad_entry(entry: str, cause: str) -> Invalid:
    """An entry of the archive would land where no file of a skill belongs, or is no file."""
    return Invalid(
        "archive_path_refused", domain="skills", pointer="/file", detail=f"{quoted(entry)}: {cause}"
    )


def archive_too_large(cause: str, *, limit: int, entry: str | None = None) -> LimitExceeded:
    """The archive, or what comes out of it, is too much."""
    where = f"{quoted(entry)}: " if entry is not None else ""
    return LimitExceeded(
        "archive_too_large", domain="skills", detail=where + cause, params={"limit": limit}
    )


def bad_path(path: str, cause: str) -> Invalid:
    """A file of a bundle has a name that cannot be kept."""
    return Invalid(
        "invalid_skill_path", domain="skills", pointer="/files", detail=f"{quoted(path)}: {cause}"
    )


def bundle_too_large(cause: str, *, limit: int) -> LimitExceeded:
    """A bundle has too many files or bytes."""
    return LimitExceeded("bundle_too_large", domain="skills", detail=cause, params={"limit": limit})


def manifest_too_large(size: int, *, limit: int) -> LimitExceeded:
    """SKILL.md is longer than one may be."""
    return LimitExceeded(
        "skill_too_large",
        domain="skills",
        detail=f"SKILL.md has {size} bytes; at most {limit} are allowed",
        params={"size_bytes": size, "limit_bytes": limit},
    )


def missing_manifest_error(cause: str) -> Invalid:
    """There is no SKILL.md where one has to be."""
    return Invalid("skill_manifest_missing", domain="skills", pointer="/file", detail=cause)


def blank_manifest(pointer: str) -> Invalid:
    """SKILL.md says nothing."""
    return Invalid("skill_blank", domain="skills", pointer=pointer, detail="SKILL.md is blank")


def not_text_error(path: str, *, pointer: str = "/file") -> Invalid:
    """A file that has to be text is none."""
    return Invalid(
        "skill_not_text",
        domain="skills",
        pointer=pointer,
        detail=f"{quoted(path)} is not UTF-8 text",
    )


def missing_name_error(pointer: str) -> Invalid:
    """The front matter names no skill."""
    return Invalid(
        "skill_name_missing",
        domain="skills",
        pointer=pointer,
        detail='SKILL.md needs front matter with a "name"',
    )


def bad_front_matter(errors: tuple[FieldError, ...]) -> Invalid:
    """The front matter cannot be read."""
    detail = "; ".join(error.detail for error in errors)
    return Invalid("invalid_front_matter", domain="skills", detail=detail, errors=errors)


def bad_manifest(errors: tuple[FieldError, ...]) -> Invalid:
    """A field of the front matter is not what it has to be."""
    detail = "; ".join(error.detail for error in errors)
    return Invalid("invalid_manifest", domain="skills", detail=detail, errors=errors)


def bad_settings(errors: tuple[FieldError, ...]) -> Invalid:
    """The runtime settings of a skill are wrong."""
    detail = "; ".join(error.detail for error in errors)
    return Invalid("invalid_runtime_settings", domain="skills", detail=detail, errors=errors)


def bad_slug(cause: str, *, pointer: str) -> Invalid:
    """The slug is none that a skill may have."""
    return Invalid("invalid_slug", domain="skills", pointer=pointer, detail=cause)


def bad_dependency(label: str, cause: str, *, pointer: str) -> Invalid:
    """Not the name of a package or program."""
    return Invalid(
        "invalid_dependency", domain="skills", pointer=pointer, detail=f"{quoted(label)}: {cause}"
    )
