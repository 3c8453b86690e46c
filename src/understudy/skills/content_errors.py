"""Why a bundle, an archive or a manifest is refused, in words and codes."""

from understudy.core.errors import FieldError, Invalid, LimitExceeded
from understudy.core.text import quoted


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


def no_manifest(cause: str) -> Invalid:
    """There is no SKILL.md where one has to be."""
    return Invalid("skill_manifest_missing", domain="skills", pointer="/file", detail=cause)


def blank_manifest(pointer: str) -> Invalid:
    """SKILL.md says nothing."""
    return Invalid("skill_blank", domain="skills", pointer=pointer, detail="SKILL.md is blank")


def not_text(path: str, *, pointer: str = "/file") -> Invalid:
    """A file that has to be text is none."""
    return Invalid(
        "skill_not_text",
        domain="skills",
        pointer=pointer,
        detail=f"{quoted(path)} is not UTF-8 text",
    )


def no_name(pointer: str) -> Invalid:
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
