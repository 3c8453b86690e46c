"""`understudy personas`: instruction records that sessions take snapshots of."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import connect
from understudy.cli.options import Commands, Cursor, Key, Limit, PersonaId
from understudy.cli.output import note, understudy

commands = Commands("Personas: instructions that sessions take a snapshot of.")

Name = Annotated[str | None, typer.Option("--name", help="What people call it.")]
Soul = Annotated[str | None, typer.Option("--soul", help="Its instructions; `-` reads stdin.")]
SoulFile = Annotated[
    Path | None, typer.Option("--soul-file", help="Read the instructions from a file.")
]
Scope = Annotated[
    str | None, typer.Option("--capability-scope", metavar="JSON", help="What it may see.")
]
Metadata = Annotated[str | None, typer.Option(metavar="JSON", help="Kept with the persona.")]


PERSONAS_COLUMNS: Final[screen.Layout] = {
    "persona": "persona_id",
    "version": "version",
    "changed": "updated_at_ms",
    "name": "display_name",
}


@commands("list")
def list_personas(
    ctx: typer.Context,
    query: Annotated[str | None, typer.Option(help="Part of an id or a name.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List personas."""
    with connect(ctx) as daemon:
        page = daemon.client.personas.page(query=query, limit=limit, cursor=cursor)
        empty = f"No personas yet. `{understudy()} personas create ID --soul TEXT` makes one."
        daemon.show_page(page, PERSONAS_COLUMNS, empty=empty)


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


@commands("create")
def create(
    ctx: typer.Context,
    persona_id: PersonaId,
    name: Name = None,
    soul: Soul = None,
    soul_file: SoulFile = None,
    capability_scope: Scope = None,
    metadata: Metadata = None,
    key: Key = None,
) -> None:
    """Create a persona."""
    from understudy.wire.personas import CreatePersona

    fields = _fields(name, soul, soul_file, capability_scope, metadata)
    with connect(ctx) as daemon:
        wanted = CreatePersona(persona_id=persona_id, **fields)
        daemon.show_record(daemon.client.personas.create(wanted, key=key), RECORD)


@commands("show", "get")
def show(ctx: typer.Context, persona_id: PersonaId) -> None:
    """Show a persona."""
    with connect(ctx) as daemon:
        daemon.show_record(daemon.client.personas.get(persona_id), RECORD)


@commands("update", "set")
def update(
    ctx: typer.Context,
    persona_id: PersonaId,
    name: Name = None,
    soul: Soul = None,
    soul_file: SoulFile = None,
    capability_scope: Scope = None,
    metadata: Metadata = None,
) -> None:
    """Change a persona; sessions that carry a snapshot keep it."""
    from understudy.wire.personas import UpdatePersona

    fields = _fields(name, soul, soul_file, capability_scope, metadata)
    if not fields:
        raise typer.BadParameter("give something to change")
    with connect(ctx) as daemon:
        daemon.show_record(
            daemon.client.personas.update(persona_id, UpdatePersona(**fields)), RECORD
        )


@commands("delete")
def delete(ctx: typer.Context, persona_id: PersonaId) -> None:
    """Delete a persona; sessions that carry a snapshot keep it."""
    with connect(ctx) as daemon:
        daemon.client.personas.delete(persona_id)
        daemon.show(lambda: note(f"persona {persona_id} is deleted"))


def _fields(
    name: str | None,
    soul: str | None,
    soul_file: Path | None,
    capability_scope: str | None,
    metadata: str | None,
) -> dict[str, Any]:
    from understudy.client.calls import given

    has_soul = soul is not None or soul_file is not None
    return given(
        display_name=name,
        soul=inputs.content(soul, soul_file) if has_soul else None,
        capability_scope=inputs.json_object(capability_scope, "--capability-scope"),
        metadata=inputs.json_object(metadata, "--metadata"),
    )
