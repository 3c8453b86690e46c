"""What callers send about personas."""

from pydantic import Field

from understudy.wire.base import JsonObject, Request, Update


class DefaultSkill(Request):
    """A skill that a persona brings along."""

    name: str = Field(min_length=1, max_length=200)
    args: str | None = None


class PersonaFields(Request):
    """The parts of a persona; what is left out keeps its value."""

    display_name: str | None = Field(default=None, max_length=200)
    soul: str | None = Field(default=None, max_length=262_144)
    capability_scope: JsonObject | None = None
    default_skills: list[DefaultSkill] | None = Field(default=None, max_length=256)
    metadata: JsonObject | None = None


class CreatePersona(PersonaFields):
    """A new persona."""

    persona_id: str | None = None


class UpdatePersona(PersonaFields, Update):
    """Changes to a persona; an id must be that of the path."""

    persona_id: str | None = None
