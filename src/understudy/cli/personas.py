"""`understudy personas`: instruction records that sessions take snapshots of."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key, PersonaId
from understudy.cli.table import Verb, declare

commands = Commands("Personas: instructions that sessions take a snapshot of.")
PERSONAS_COLUMNS: Final[screen.Layout] = {
    "persona": "persona_id",
    "version": "version",
    "changed": "updated_at_ms",
    "name": "display_name",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaOptions:
    """The options of a persona."""

    name: Annotated[str | None, typer.Option("--name", help="What people call it.")] = None
    soul: Annotated[
        str | None, typer.Option("--soul", help="Its instructions; `-` reads stdin.")
    ] = None
    soul_file: Annotated[
        Path | None, typer.Option("--soul-file", help="Read the instructions from a file.")
    ] = None
    capability_scope: Annotated[
        str | None, typer.Option("--capability-scope", metavar="JSON", help="What it may see.")
    ] = None
    default_skill: Annotated[
        list[str] | None,
        typer.Option(
            "--default-skill",
            metavar="SKILL",
            help="A skill that is active where the persona is bound. Repeatable; an empty one: none.",
        ),
    ] = None
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="Kept with the persona.")] = (
        None
    )

    def fields(self) -> dict[str, Any]:
        """As the API names it."""
        has_soul = self.soul is not None or self.soul_file is not None
        return {
            "display_name": self.name,
            "soul": inputs.content(self.soul, self.soul_file) if has_soul else None,
            "capability_scope": inputs.json_object(self.capability_scope, "--capability-scope"),
            "default_skills": self._skills(),
            "metadata": inputs.json_object(self.metadata, "--metadata"),
        }

    def _skills(self) -> list[dict[str, str]] | None:
        if self.default_skill is None:
            return None
        return [{"name": name} for name in self.default_skill if name.strip()]


RECORD: Final[screen.Layout] = {
    "persona": "persona_id",
    "name": "display_name",
    "version": "version",
    "capability scope": "capability_scope",
    "skills": lambda view: [skill.name for skill in view.default_skills],
    "metadata": "metadata",
    "changed": "updated_at_ms",
    "soul": "soul",
}


@commands("create", show=RECORD)
def create(
    daemon: DaemonConnection, persona_id: PersonaId, about: PersonaOptions, key: Key = None
) -> object:
    """Create a persona."""
    from understudy.wire.personas import CreatePersona

    wanted = inputs.request(CreatePersona, persona_id=persona_id, **about.fields())
    return daemon.client.personas.create(wanted, key=key)


@commands("update", "set", show=RECORD)
def update(daemon: DaemonConnection, persona_id: PersonaId, about: PersonaOptions) -> object:
    """Change a persona; sessions that carry a snapshot keep it."""
    from understudy.wire.personas import UpdatePersona

    changes = inputs.change(UpdatePersona, **about.fields())
    return daemon.client.personas.update(persona_id, changes)


declare(
    commands,
    Verb(
        names="list",
        call="personas.page",
        show=PERSONAS_COLUMNS,
        empty="No personas yet. `{understudy} personas create ID --soul TEXT` makes one.",
    ),
    Verb(names="show get", call="personas.get", show=RECORD),
    Verb(names="delete", call="personas.delete", show="persona {persona_id} is deleted"),
)
