"""Request bodies of personas."""

from pydantic import Field

from understudy.wire.base import JsonObject, Metadata, ReadOnly, RequestBody, Update


class DefaultSkillBody(RequestBody):
    """A skill that a persona brings along."""

    name: str = Field(min_length=1, max_length=200)
    """The slug, id or name of the skill."""
    args: str | None = None
    """The arguments that it is activated with."""


class PersonaBody(RequestBody):
    """The fields of a persona; an omitted one keeps its value."""

    display_name: str | None = Field(default=None, max_length=200)
    """The name that people see."""
    soul: str | None = Field(default=None, max_length=262_144)
    """The text of the persona in the prompt."""
    capability_scope: JsonObject | None = None
    """What its sessions may use at most."""
    default_skills: list[DefaultSkillBody] | None = Field(default=None, max_length=256)
    """Skills that a session has active from the start."""
    metadata: Metadata | None = None
    """Data of the caller, stored with the persona."""


class CreatePersona(PersonaBody):
    """A new persona."""

    persona_id: str | None = None
    """The id; by default a new one."""


class UpdatePersona(PersonaBody, Update):
    """Changes to a persona."""

    persona_id: ReadOnly[str | None] = None
    """Has to be that of the path; it cannot be changed."""
    warnings: ReadOnly[list[JsonObject] | None] = None
    """Set by the daemon; ignored."""
