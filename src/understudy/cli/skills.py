"""`understudy skills`: list, create, change and grant skills."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs, screen, skill_records, skill_roots
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key, ListsByDefault, PageOptions
from understudy.cli.output import note, understudy
from understudy.cli.skill_records import (
    VISIBILITIES,
    Acknowledge,
    ForAgent,
    ForUser,
    SkillRef,
    Slug,
    acknowledged,
    answering_for,
)

if TYPE_CHECKING:
    from understudy.client.operation import PageOf
    from understudy.wire.skills import SkillDetail, SkillPatched, SkillView


trash = Commands("Deleted skills; alone it lists them.")


TRASH_COLUMNS: Final[screen.Layout] = {
    "trash name": "trash_name",
    "skill": "slug",
    "version": "version",
    "owner": "owner_id",
    "deleted by": "deleted_by",
    "deleted": "deleted_at_ms",
    "name": lambda item: screen.visible(item.name),
}


@trash("list", show=TRASH_COLUMNS, empty="The trash is empty.")
def list_trash(daemon: DaemonConnection, page: PageOptions) -> object:
    """List deleted skills: yours, or as an admin everybody's."""
    return daemon.client.skill_trash.page(**page)


def _show_restored(view: "SkillView") -> None:
    print(view.id)
    reach = skill_records.REACH[view.visibility]
    note(f"{view.slug} is back at version {view.version}, {view.visibility}: {reach}")


@trash("restore", show=_show_restored)
def restore(
    daemon: DaemonConnection,
    trash_name: Annotated[
        str, typer.Argument(metavar="NAME", help="What it is called in the trash.")
    ],
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> object:
    """Bring a deleted skill back with all its versions; its grants are gone."""
    with answering_for(acknowledge):
        taken = acknowledged(acknowledge)
        return daemon.client.skill_trash.restore(trash_name, acknowledged=taken, key=key)


commands = Commands("Skills: what agents can be told to do, in versions, with an owner and grants.")
commands.app.add_typer(trash.app, name="trash", cls=ListsByDefault, no_args_is_help=False)
commands.app.add_typer(
    skill_roots.commands.app, name="roots", cls=ListsByDefault, no_args_is_help=False
)


@commands("list")
def list_skills(
    daemon: DaemonConnection,
    page: PageOptions,
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
    skills = daemon.client.skills
    if agent is not None:
        found: PageOf[object] = skills.of_agent_page(agent, **page)
        daemon.show_answer(found, skill_records.OF_AGENT, "No skills.")
    elif session is not None:
        found = skills.of_session_page(session, **page)
        daemon.show_answer(found, skill_records.OFFERED, "No skill is offered.")
    else:
        hint = "No skills. `{understudy} skills create FILE` keeps one."
        found = skills.page(**page, **which)
        daemon.show_answer(found, skill_records.COLUMNS, "No skill fits." if which else hint)


def _show(view: "SkillDetail") -> None:
    screen.fields(skill_records.detail_pairs(view))
    print()
    print(screen.visible(view.instructions).strip("\n"))


@commands("show", "get", show=_show)
def show(daemon: DaemonConnection, skill: SkillRef) -> object:
    """Show a skill with its instructions; what cannot be seen in them is written out."""
    return daemon.client.skills.get(skill)


@commands("create", show=skill_records.tell_kept)
def create(
    daemon: DaemonConnection,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A SKILL.md; `-` reads stdin.")],
    slug: Slug = None,
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> object:
    """Keep a SKILL.md and print its id; of a skill of yours it becomes the next version."""
    from understudy.wire.skills import CreateSkill

    content = inputs.read_file(file)
    with answering_for(acknowledge):
        taken = acknowledged(acknowledge) or None
        wanted = inputs.request(CreateSkill, content=content, slug=slug, acknowledged=taken)
        return daemon.client.skills.create(wanted, key=key)


def _show_patched(view: "SkillPatched") -> None:
    skill_records.tell_kept(view)
    note(skill_records.replaced_line(view.replaced, view.matches))


@commands("patch", show=_show_patched)
def patch(
    daemon: DaemonConnection,
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
) -> object:
    """Replace text in SKILL.md: a new version, whose other files are those of the one before."""
    from understudy.wire.skills import PatchSkill

    with answering_for(acknowledge):
        wanted = inputs.request(
            PatchSkill,
            find=find,
            replace=replace,
            replace_all=everywhere or None,
            strict=strict or None,
            expected_version=expected,
            acknowledged=acknowledged(acknowledge) or None,
        )
        return daemon.client.skills.patch(skill, wanted, key=key)


@commands("update", show=skill_records.tell_reach)
def update(
    daemon: DaemonConnection,
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
) -> object:
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
    return daemon.client.skills.update(skill, UpdateSkill.model_validate(fields))


@commands("enable", show=skill_records.tell_switched)
def enable(daemon: DaemonConnection, skill: SkillRef, key: Key = None) -> object:
    """Switch a skill on, and look again whether what it needs is there."""
    return daemon.client.skills.toggle(skill, enabled=True, key=key)


@commands("disable", show=skill_records.tell_switched)
def disable(daemon: DaemonConnection, skill: SkillRef, key: Key = None) -> object:
    """Switch a skill off for everybody, without touching who it is granted to."""
    return daemon.client.skills.toggle(skill, enabled=False, key=key)


@commands("delete")
def delete(daemon: DaemonConnection, skill: SkillRef) -> None:
    """Move a skill to the trash with all its versions, and take back every grant."""
    gone = daemon.client.skills.delete(skill)
    daemon.show(lambda: print(gone.trash_name))
    if not daemon.as_json:
        note(f"{skill} is in the trash")
        note(f"  `{understudy()} skills trash restore {gone.trash_name}` brings it back")


@commands("grant", show=skill_records.tell_reach)
def grant(
    daemon: DaemonConnection,
    skill: SkillRef,
    agent: ForAgent = None,
    user: ForUser = None,
    version: Annotated[
        int | None,
        typer.Option("--version", min=1, help="Only this version, whatever becomes current."),
    ] = None,
    acknowledge: Acknowledge = None,
    key: Key = None,
) -> object:
    """Let an agent use a skill, or a user with any agent."""
    _check_one(agent, user)
    if user is not None and version is not None:
        raise typer.BadParameter("--version is for agents")
    with answering_for(acknowledge):
        grants = daemon.client.skill_grants
        if agent is None:
            return grants.give_user(skill, user or "", key=key)
        taken = acknowledged(acknowledge)
        return grants.give_agent(skill, agent, version=version, acknowledged=taken, key=key)


@commands("revoke", show=skill_records.tell_reach)
def revoke(
    daemon: DaemonConnection, skill: SkillRef, agent: ForAgent = None, user: ForUser = None
) -> object:
    """Take a grant back; it holds from the next call on."""
    _check_one(agent, user)
    grants = daemon.client.skill_grants
    if agent is None:
        return grants.take_user(skill, user or "")
    return grants.take_agent(skill, agent)


GRANTS_COLUMNS: Final[screen.Layout] = {
    "kind": "kind",
    "to": lambda item: item.agent_id or item.user_id,
    "version": lambda item: item.pinned_version or "current",
    "by": "granted_by",
    "since": "created_at_ms",
}


@commands("grants", show=GRANTS_COLUMNS, empty="It is granted to nobody.")
def grants(daemon: DaemonConnection, page: PageOptions, skill: SkillRef) -> object:
    """List to whom a skill is granted; for its owner and admins."""
    return daemon.client.skill_grants.page(skill, **page)


ACCESS: Final[screen.Layout] = {
    "skill": "slug",
    "agent": "agent_id",
    "user": lambda view: view.user_id or "you",
    "allowed": "allowed",
    "because": lambda view: f"{skill_records.REASONS[view.reason]} ({view.reason})",
    "version": lambda view: (view.allowed and view.version) or None,
}


@commands("access", "explain", show=ACCESS)
def access(
    daemon: DaemonConnection, skill: SkillRef, agent: ForAgent = None, user: ForUser = None
) -> object:
    """Tell whether an agent that works for a user may use a skill, and why."""
    return daemon.client.skill_grants.access(skill, agent_id=agent, user_id=user)


def _check_one(agent: str | None, user: str | None) -> None:
    if (agent is None) == (user is None):
        raise typer.BadParameter("give --agent or --user, and not both")
