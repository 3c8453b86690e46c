"""Request bodies of personas."""

from pydantic import Field

from understudy.wire.base import JsonObject, Metadata, RequestBody, Update


class DefaultSkillBody(RequestBody):
    """A skill that a persona brings along."""

    name: str = Field(min_length=1, max_length=200)
    args: str | None = None


class PersonaBody(RequestBody):
    """The fields of a persona; an omitted one keeps its value."""

    display_name: str | None = Field(default=None, max_length=200)
    soul: str | None = Field(default=None, max_length=262_144)
    capability_scope: JsonObject | None = None
    default_skills: list[DefaultSkillBody] | None = Field(default=None, max_length=256)
    metadata: Metadata | None = None


class CreatePersona(PersonaBody):
    """A new persona."""

    persona_id: str | None = None


class UpdatePersona(PersonaBody, Update):
    """Changes to a persona; an id must be that of the path."""

    persona_id: str | None = None
    # The daemon's, as in the answer to a change; ignored.
    warnings: list[JsonObject] | None = None
