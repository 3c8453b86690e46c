"""Skill references on the command line, and skills as text for people."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from understudy.cli import screen
from understudy.cli.output import note, understudy
from understudy.cli.screen import Pairs, count, visible

if TYPE_CHECKING:
    from understudy.skills.model import BundleSignature
    from understudy.skills.runtime_settings import RuntimeSettings
    from understudy.wire.skills import (
        AcknowledgedFinding,
        SkillChanged,
        SkillDetail,
        SkillKept,
        SkillView,
    )

VISIBILITIES: Final = "`private`, `internal` or `public`"
ACKNOWLEDGED: Final = re.compile(r"(?P<rule>[^@\s]+)@(?P<path>.+?):(?P<line>\d+)=(?P<reason>.+)")
UNANSWERED: Final = (
    "--acknowledge has to name every finding, takes the role admin,"
    " and a daemon whose config says `allow_acknowledged = true` under [guard]"
)

SkillRef: TypeAlias = Annotated[
    str, typer.Argument(metavar="SKILL", help="The skill's slug or id.")
]
Slug: TypeAlias = Annotated[
    str | None,
    typer.Option(help="What to call it in paths; by default as the front matter says."),
]
OfVersion: TypeAlias = Annotated[
    int | None, typer.Option("--version", min=1, help="Which version; the current one by default.")
]
Acknowledge: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE@PATH:LINE=REASON",
        help="A finding of the guard that you answer for; admins, where it is allowed; repeatable.",
    ),
]
ForAgent: TypeAlias = Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Agent.")]
ForUser: TypeAlias = Annotated[str | None, typer.Option("--user", metavar="USER", help="User.")]


@contextmanager
def answering_for(entries: Sequence[str] | None) -> Iterator[None]:
    """Tell whoever answered for findings in vain what that takes."""
    from understudy.client import UnsafeError

    try:
        yield
    except UnsafeError as problem:
        if entries:
            problem.add_note(UNANSWERED)
        raise


def acknowledged(entries: Sequence[str] | None) -> list["AcknowledgedFinding"]:
    """`P1.sudo@SKILL.md:12=our image needs it` as what is acknowledged."""
    from understudy.wire.skills import AcknowledgedFinding

    found = []
    for entry in entries or ():
        parts = ACKNOWLEDGED.fullmatch(entry)
        if parts is None:
            raise typer.BadParameter(f"--acknowledge takes RULE@PATH:LINE=REASON; got {entry!r}")
        rule, path, line, reason = parts.groups()
        found.append(
            AcknowledgedFinding(rule_id=rule, path=path, line=int(line), reason=reason.strip())
        )
    return found


def state(skill: "SkillView") -> str:
    """Whether it can be used, in a word or two."""
    switch = "" if skill.enabled else ", off"
    draft = "draft, " if skill.is_draft else ""
    misses = f", misses {len(skill.missing_deps)}" if skill.missing_deps else ""
    return f"{draft}{skill.status}{switch}{misses}"


COLUMNS: Final[screen.Layout] = {
    "skill": "slug",
    "version": lambda each: _number(each.version),
    "origin": "origin",
    "visibility": "visibility",
    "state": state,
    "owner": "owner_id",
    "changed": "updated_at_ms",
    "description": lambda each: visible(each.description),
}
REASONS: Final = {
    "inactive": "it is archived (what it needs is missing) or deleted",
    "disabled": "it is switched off",
    "draft": "nobody has accepted a version of it yet",
    "system": "it comes with the product",
    "public": "it is public",
    "owner": "the user owns it",
    "agent_grant": "it is granted to the agent",
    "user_grant": "it is granted to the user",
    "none": "it is neither public, nor the user's, nor granted to either",
}
OFFERED: Final[screen.Layout] = {
    "skill": "slug",
    "version": lambda each: _number(each.version),
    "origin": "origin",
    "because": lambda each: (
        REASONS[each.reason] + (", runs apart" if each.context == "fork" else "")
    ),
    "description": lambda each: visible(each.description),
}
OF_AGENT: Final[screen.Layout] = {
    "skill": "slug",
    "version": lambda each: (
        f"{each.pinned_version} (pinned)" if each.pinned_version else _number(each.version)
    ),
    "visibility": "visibility",
    "granted": "granted",
    "may use": "allowed",
    "description": lambda each: visible(each.description),
}
REACH: Final = {
    "private": "for its owner alone",
    "internal": "for those it is granted to",
    "public": "for everybody",
}


def detail_pairs(view: "SkillDetail") -> Pairs:
    """Everything about a skill but its instructions."""
    return [
        ("skill", view.slug),
        ("id", view.id),
        ("name", visible(view.name)),
        ("description", visible(view.description)),
        ("when to use", visible(view.when_to_use)),
        ("version", _version(view)),
        ("origin", view.origin),
        ("owner", view.owner_id),
        ("visibility", f"{view.visibility}: {REACH[view.visibility]}"),
        ("state", state(view)),
        ("draft", _draft(view)),
        ("misses", view.missing_deps),
        ("tags", view.tags),
        ("author", visible(view.author)),
        ("license", visible(view.license)),
        ("compatibility", visible(view.compatibility)),
        ("runs", _runs(view.runtime)),
        ("tools", view.runtime.allowed_tools or view.allowed_tools),
        ("not the tools", view.runtime.blocked_tools),
        ("changed", screen.ago(view.updated_at_ms)),
        ("digest", view.digest),
        ("lies at", view.path),
        ("you may", view.actions),
    ]


def tell_kept(view: "SkillKept") -> None:
    """The id on stdout, and what is worth knowing about what was kept beside that."""
    print(view.id)
    for line in kept_lines(view):
        note(line)


def kept_lines(view: "SkillKept") -> list[str]:
    """What became of a skill that was kept."""
    where = f"version {view.version}, {view.visibility}: {REACH[view.visibility]}"
    if view.unchanged:
        return [f"nothing changed: {view.slug} has this content already, in {where}"]
    if view.draft_version is not None:
        return [*draft_lines(view.slug, view.draft_version), *signature_lines(view.signature)]
    lines = [f"{view.slug} is at {where}", *signature_lines(view.signature)]
    if view.deps_warning:
        lines.append(f"  {view.deps_warning}")
    if view.visibility == "private":
        lines.append(f"  `{understudy()} skills grant {view.slug} --agent AGENT` shares it")
    return lines


def draft_lines(slug: str, version: int) -> list[str]:
    """What a draft is, and what to do with it."""
    accept, reject = (
        f"`{understudy()} skills {act} {slug} {version}`" for act in ("accept", "reject")
    )
    return [
        f"version {version} of {slug} is a draft: nobody can use it until a person accepts it",
        f"  {accept} or {reject} decides",
    ]


def signature_lines(signature: "BundleSignature | None") -> list[str]:
    """Who signed an upload, and whether that says anything."""
    if signature is None:
        return []
    signer = visible(signature.signer)
    if signature.is_trusted:
        return [f"  signed by {signer} ({signature.key_id})"]
    return [
        f"  signed by an unknown key, {signature.key_id}, which calls itself {signer!r}",
        f"  `{understudy()} keys trust NAME FILE` makes their public key a known one",
    ]


def tell_switched(view: "SkillView") -> None:
    """Say what switching it came to; one that is on may miss something all the same."""
    misses = f": it misses {', '.join(view.missing_deps)}" if view.missing_deps else ""
    note(f"{view.slug} is on and {view.status}{misses}" if view.enabled else f"{view.slug} is off")


def tell_reach(view: "SkillView | SkillChanged") -> None:
    """Say who a skill is for now."""
    note(f"{view.slug} is {view.visibility}: {REACH[view.visibility]}")


def replaced_line(replaced: int, matches: int) -> str:
    """How far a patch went."""
    if replaced < matches:
        return f"  {replaced} of {count(matches, 'place')} replaced; --all replaces every one"
    return f"  {count(replaced, 'place')} replaced"


def _number(version: int | str | None) -> int | str | None:
    """A version for a table; what lies in a folder mostly has none."""
    return visible(version) if isinstance(version, str) else version or None


def _draft(view: "SkillDetail") -> str | None:
    if not view.is_draft:
        return None
    return (
        f"nobody can use it until a person accepts it: `{understudy()} skills accept {view.slug}`,"
        f" or `{understudy()} skills reject {view.slug}`"
    )


def _version(view: "SkillDetail") -> str:
    number = view.version if isinstance(view.version, int) else 0
    label = f", called {visible(view.version_label)}" if view.version_label else ""
    return f"{number or 'none kept'}{label} ({view.size} bytes)"


def _runs(runtime: "RuntimeSettings") -> str:
    where = "apart, in a sidechain" if runtime.context == "fork" else "in the conversation"
    wishes = (
        ("agent", runtime.agent_profile),
        ("provider", runtime.provider),
        ("model", runtime.model),
        ("else", runtime.fallback_model),
    )
    return ", ".join([where, *(f"{name} {visible(value)}" for name, value in wishes if value)])
