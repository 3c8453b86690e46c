"""`understudy skills`: what agents can be told to do, kept in versions."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from understudy.cli import inputs, screen, skill_records
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.options import Commands, Cursor, Key, Limit
from understudy.cli.output import note, understudy
from understudy.cli.skill_records import (
    VISIBILITIES,
    Acknowledge,
    SkillRef,
    Slug,
    acknowledged,
    answering_for,
)

trash = Commands("Deleted skills; alone it lists them.")


class ListsByDefault(TyperGroup):
    """A group that lists what there is when nothing else is asked of it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `list` where no command stands."""
        is_named = bool(args) and not args[0].startswith("-")
        is_help = bool(args) and args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if is_named or is_help else ["list", *args])


TRASH_COLUMNS: Final[screen.Layout] = {
    "trash name": "trash_name",
    "skill": "slug",
    "version": "version",
    "owner": "owner_id",
    "deleted by": "deleted_by",
    "deleted": "deleted_at_ms",
    "name": lambda item: screen.visible(item.name),
}


@trash("list")
def list_trash(ctx: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List deleted skills: yours, or as an admin everybody's."""
    with connect(ctx) as daemon:
        page = daemon.client.skill_trash.page(limit=limit, cursor=cursor)
        daemon.show_page(page, TRASH_COLUMNS, empty="The trash is empty.")


@trash("restore")
def restore(
    ctx: typer.Context,
    trash_name: Annotated[
        str, typer.Argument(metavar="NAME", help="What it is called in the trash.")
    ],
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> None:
    """Bring a deleted skill back with all its versions; its grants are gone."""
    with connect(ctx) as daemon, answering_for(acknowledge):
        view = daemon.client.skill_trash.restore(
            trash_name, acknowledged=acknowledged(acknowledge), key=key
        )

        def render() -> None:
            print(view.id)
            reach = skill_records.REACH[view.visibility]
            note(f"{view.slug} is back at version {view.version}, {view.visibility}: {reach}")

        daemon.show(render)


commands = Commands("Skills: what agents can be told to do, in versions, with an owner and grants.")
commands.app.add_typer(trash.app, name="trash", cls=ListsByDefault, no_args_is_help=False)


@commands("list")
def list_skills(
    ctx: typer.Context,
    query: Annotated[
        str | None,
        typer.Option("--query", "-q", help="Only those with this in slug, name or description."),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(help="Only from there: `system`, `managed`, `promoted` or `local`."),
    ] = None,
    visibility: Annotated[
        str | None, typer.Option(help=f"Only those that are {VISIBILITIES}.")
    ] = None,
    status: Annotated[str | None, typer.Option(help="Only `active` or `archived` ones.")] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="USER", help="Only those that somebody owns.")
    ] = None,
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Only those switched on, or off.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="AGENT", help="Tell what an agent has of each.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="SESSION", help="What is offered in a session, and why.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the skills that you may know of, by name."""
    from understudy.client.calls import given

    which = given(
        query=query,
        origin=origin,
        visibility=visibility,
        status=status,
        owner_id=owner,
        enabled=enabled,
    )
    if (agent is not None) + (session is not None) + bool(which) > 1:
        raise typer.BadParameter("--agent and --session stand alone: no other option narrows them")
    with connect(ctx) as daemon:
        if agent is not None:
            _list_of_agent(daemon, agent, limit, cursor)
        elif session is not None:
            _list_of_session(daemon, session, limit, cursor)
        else:
            _list(daemon, which, limit, cursor)


@commands("show", "get")
def show(ctx: typer.Context, skill: SkillRef) -> None:
    """Show a skill with its instructions; what cannot be seen in them is written out."""
    with connect(ctx) as daemon:
        view = daemon.client.skills.get(skill)

        def render() -> None:
            screen.fields(skill_records.detail_pairs(view))
            print()
            print(screen.visible(view.instructions).strip("\n"))

        daemon.show(render)


@commands("create")
def create(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A SKILL.md; `-` reads stdin.")],
    slug: Slug = None,
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> None:
    """Keep a SKILL.md and print its id; of a skill of yours it becomes the next version."""
    from understudy.client.calls import given
    from understudy.wire.skills import CreateSkill

    content = inputs.read_file(file)
    with connect(ctx) as daemon, answering_for(acknowledge):
        fields = given(content=content, slug=slug, acknowledged=acknowledged(acknowledge) or None)
        view = daemon.client.skills.create(CreateSkill(**fields), key=key)
        daemon.show(lambda: skill_records.tell_kept(view))


@commands("patch")
def patch(
    ctx: typer.Context,
    skill: SkillRef,
    find: Annotated[str, typer.Option(metavar="TEXT", help="What stands there, exactly.")],
    replace: Annotated[
        str, typer.Option(metavar="TEXT", help="What shall stand there; may be empty.")
    ],
    everywhere: Annotated[
        bool, typer.Option("--all", help="Wherever it stands, not only the first time.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse if it stands there more than once.")
    ] = False,
    expected: Annotated[
        int | None,
        typer.Option(
            "--expected-version", metavar="N", help="Refuse if another version is current."
        ),
    ] = None,
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> None:
    """Replace text in SKILL.md: a new version, whose other files are those of the one before."""
    from understudy.client.calls import given
    from understudy.wire.skills import PatchSkill

    fields = given(
        find=find,
        replace=replace,
        replace_all=everywhere or None,
        strict=strict or None,
        expected_version=expected,
    )
    with connect(ctx) as daemon, answering_for(acknowledge):
        if found := acknowledged(acknowledge):
            fields["acknowledged"] = found
        view = daemon.client.skills.patch(skill, PatchSkill(**fields), key=key)

        def render() -> None:
            skill_records.tell_kept(view)
            note(skill_records.replaced_line(view.replaced, view.matches))

        daemon.show(render)


@commands("update")
def update(
    ctx: typer.Context,
    skill: SkillRef,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    description: Annotated[str | None, typer.Option(help="Another description.")] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", help="A tag, in place of all there are; repeatable."),
    ] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Take all tags away.")] = False,
    visibility: Annotated[
        str | None,
        typer.Option(help="`public`, or `private` or `internal` to end that; only admins may."),
    ] = None,
) -> None:
    """Change what is said of a skill, or make it public; its content stays."""
    from understudy.client.calls import given
    from understudy.wire.skills import UpdateSkill

    if tags and no_tags:
        raise typer.BadParameter("give --tag or --no-tags, not both")
    fields = given(
        name=name,
        description=description,
        tags=[] if no_tags else tags or None,
        visibility=visibility,
    )
    if not fields:
        raise typer.BadParameter("say what to change: --name, --description, --tag, --visibility")
    with connect(ctx) as daemon:
        view = daemon.client.skills.update(skill, UpdateSkill.model_validate(fields))
        reach = skill_records.REACH[view.visibility]
        daemon.show(lambda: note(f"{view.slug} is {view.visibility}: {reach}"))


@commands("enable")
def enable(ctx: typer.Context, skill: SkillRef, key: Key = None) -> None:
    """Switch a skill on, and look again whether what it needs is there."""
    _toggle(ctx, skill, enabled=True, key=key)


@commands("disable")
def disable(ctx: typer.Context, skill: SkillRef, key: Key = None) -> None:
    """Switch a skill off for everybody, without touching who it is granted to."""
    _toggle(ctx, skill, enabled=False, key=key)


@commands("delete")
def delete(ctx: typer.Context, skill: SkillRef) -> None:
    """Move a skill to the trash with all its versions, and take back every grant."""
    with connect(ctx) as daemon:
        gone = daemon.client.skills.delete(skill)

        def render() -> None:
            print(gone.trash_name)
            note(f"{skill} is in the trash")
            note(f"  `{understudy()} skills trash restore {gone.trash_name}` brings it back")

        daemon.show(render)


def _toggle(ctx: typer.Context, skill: str, *, enabled: bool, key: str | None) -> None:
    with connect(ctx) as daemon:
        view = daemon.client.skills.toggle(skill, enabled=enabled, key=key)
        daemon.show(lambda: note(skill_records.switched_line(view)))


def _list(daemon: DaemonConnection, which: dict[str, Any], limit: int, cursor: str | None) -> None:
    page = daemon.client.skills.page(limit=limit, cursor=cursor, **which)
    hint = f"No skills. `{understudy()} skills create FILE` keeps one."
    empty = "No skill fits." if which else hint
    daemon.show_page(page, skill_records.COLUMNS, empty=empty)


def _list_of_agent(daemon: DaemonConnection, agent: str, limit: int, cursor: str | None) -> None:
    page = daemon.client.skills.of_agent_page(agent, limit=limit, cursor=cursor)
    daemon.show_page(page, skill_records.OF_AGENT, empty="No skills.")


def _list_of_session(
    daemon: DaemonConnection, session: str, limit: int, cursor: str | None
) -> None:
    page = daemon.client.skills.of_session_page(session, limit=limit, cursor=cursor)
    daemon.show_page(page, skill_records.OFFERED, empty="No skill is offered.")
