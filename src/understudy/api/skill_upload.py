"""The form that a skill is uploaded with."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, cast

from fastapi import Depends, Request
from pydantic import TypeAdapter, ValidationError

from understudy.api.bodies import located
from understudy.api.multipart import MEDIA_TYPE, Form
from understudy.api.skill_bodies import acknowledged
from understudy.core.errors import FieldError, Invalid
from understudy.core.pointer import pointer
from understudy.core.strict_json import parse
from understudy.skills.acknowledgement import Acknowledged
from understudy.wire.skill_requests import Findings

_FINDINGS: Final = TypeAdapter(Findings)
UPLOAD_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        MEDIA_TYPE: {
            "schema": {
                "type": "object",
                "required": ["file"],
                "additionalProperties": False,
                "properties": {
                    "file": {
                        "type": "string",
                        "format": "binary",
                        "description": "a ZIP archive of at most 20 MB",
                    },
                    "slug": {"type": "string", "description": "where the archive names none"},
                    "acknowledged": {
                        "type": "string",
                        "contentMediaType": "application/json",
                        "description": "a JSON list as `acknowledged` of `skills.create`",
                    },
                },
            }
        }
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """What was uploaded."""

    archive: bytes
    slug: str | None
    acknowledged: tuple[Acknowledged, ...]


def upload_of(request: Request) -> Upload:
    """The fields of the form, which the gate has read."""
    fields = cast("Form", request.state.form).fields
    if "file" not in fields:
        raise Invalid(
            "upload_missing",
            domain="skills",
            pointer="/file",
            detail="the form needs a field `file` with the archive",
        )
    return Upload(
        archive=fields["file"],
        slug=_text("slug", fields["slug"]) if fields.get("slug") else None,
        acknowledged=_acknowledged(fields.get("acknowledged", b"")),
    )


Uploaded = Annotated[Upload, Depends(upload_of)]


def _text(field: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Invalid(
            "invalid_text", domain="api", pointer=f"/{field}", detail="this is not UTF-8 text"
        ) from None


def _acknowledged(data: bytes) -> tuple[Acknowledged, ...]:
    if not data.strip():
        return ()
    with located("acknowledged"):
        given = parse(data)
    try:
        return acknowledged(_FINDINGS.validate_python(given))
    except ValidationError as error:
        raise _wrong(error) from None


def _wrong(error: ValidationError) -> Invalid:
    return Invalid(
        "bad_request",
        domain="api",
        detail="`acknowledged` is not a list of findings",
        errors=tuple(
            FieldError(
                pointer=pointer(["acknowledged", *found["loc"]]),
                code=found["type"],
                detail=found["msg"],
            )
            for found in error.errors(include_url=False, include_input=False)[:10]
        ),
    )
