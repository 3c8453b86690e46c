"""`understudy playbooks`: described procedures, by version."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Key
from understudy.cli.table import Verb, declare
from understudy.core.text import short_digest

commands = Commands("Playbooks: described procedures that flows carry out.")

PlaybookId = Annotated[str, typer.Argument(metavar="PLAYBOOK", help="The playbook's id.")]
ManifestFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The manifest as JSON; `-` reads stdin.")
]
Version = Annotated[str, typer.Option("--version", metavar="VERSION", help="Which version.")]
Digest = Annotated[
    str | None,
    typer.Option(metavar="DIGEST", help="What it must say; left out, what is stored now."),
]
Evidence = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND:ID", help="What shows that it may be released; repeatable."),
]

COLUMNS: Final[screen.Layout] = {
    "playbook": "playbook_id",
    "active": "active_version",
    "newest": "latest_version",
    "versions": lambda item: len(item.versions),
    "title": "title",
}
RECORD: Final[screen.Layout] = {
    "playbook": "playbook_id",
    "title": "title",
    "objective": "objective",
    "active": "active_version",
    "versions": lambda view: [
        f"{each.version} ({each.status}, {short_digest(each.digest)})" for each in view.versions
    ],
    "shown": lambda view: view.selected_version.version,
    "digest": lambda view: view.selected_version.digest,
    "status": lambda view: view.selected_version.status,
    "phases": lambda view: [
        f"{each.phase_id}: {each.objective}" for each in view.selected_version.manifest.phases
    ],
    "done when": lambda view: list(view.selected_version.manifest.acceptance_criteria),
    "needs": lambda view: [
        f"{each.kind}:{each.id}" for each in view.selected_version.manifest.required_evidence
    ],
    "tools": lambda view: _tools(view.selected_version.manifest.tools),
    "evidence": lambda view: [
        f"{each.kind}:{each.id}" for each in view.selected_version.evidence_refs
    ],
    "revoked": lambda view: view.selected_version.revoked_reason,
}


def _tools(policy: Any) -> str | None:
    sides = (("allows", policy.allow), ("denies", policy.deny))
    said = [f"{what} {', '.join(names)}" for what, names in sides if names]
    if not said:
        return None
    return "; ".join([*said, "enforced" if policy.enforce else "not enforced"])


@commands("validate", "check")
def validate(daemon: DaemonConnection, file: ManifestFile) -> None:
    """Say what is wrong with a manifest; exits 1 when something is."""
    found = daemon.client.playbooks.validate(_manifest(file))
    daemon.show(lambda: screen.fields(_verdict(found)))
    if not found.valid:
        raise typer.Exit(1)


def _verdict(found: Any) -> list[tuple[str, Any]]:
    return [
        ("valid", "yes" if found.valid else "no"),
        ("digest", found.digest),
        ("errors", [f"{each.pointer}: {each.detail}" for each in found.errors]),
        ("warnings", [f"{each.pointer}: {each.detail}" for each in found.warnings]),
    ]


@commands("create", "add", show=RECORD)
def create(daemon: DaemonConnection, file: ManifestFile, key: Key = None) -> object:
    """Store a version as a draft; the same one again changes nothing."""
    return daemon.client.playbooks.create(_manifest(file), key=key)


@commands("publish", show=RECORD)
def publish(
    daemon: DaemonConnection,
    playbook_id: PlaybookId,
    version: Version,
    digest: Digest = None,
    status: Annotated[str, typer.Option(help="`verified`, `canary` or `active`.")] = "active",
    evidence: Evidence = None,
) -> object:
    """Release a version; the one that was active before becomes verified."""
    from understudy.wire.playbooks import PublishPlaybook

    wanted = inputs.request(
        PublishPlaybook,
        version=version,
        digest=digest or stored_digest(daemon, playbook_id, version),
        status=status,
        evidence_refs=evidence_refs(evidence),
    )
    return daemon.client.playbooks.publish(playbook_id, wanted)


@commands("revoke", show=RECORD)
def revoke(
    daemon: DaemonConnection,
    playbook_id: PlaybookId,
    version: Version,
    digest: Digest = None,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    evidence: Evidence = None,
) -> object:
    """Let nobody start a version any more; flows under way go on."""
    from understudy.wire.playbooks import RevokePlaybook

    wanted = inputs.request(
        RevokePlaybook,
        version=version,
        digest=digest or stored_digest(daemon, playbook_id, version),
        reason=reason,
        evidence_refs=evidence_refs(evidence),
    )
    return daemon.client.playbooks.revoke(playbook_id, wanted)


def stored_digest(daemon: DaemonConnection, playbook_id: str, version: str) -> str:
    """The digest of a version as it is stored now."""
    found = daemon.client.playbooks.get(playbook_id, version=version)
    return str(found.selected_version.digest)


def evidence_refs(typed: list[str] | None) -> list[dict[str, str]] | None:
    """References from `KIND:ID`."""
    refs = []
    for each in typed or ():
        kind, colon, name = each.partition(":")
        if not colon or not kind.strip() or not name.strip():
            raise typer.BadParameter(f"{each!r} is not KIND:ID, such as manual:review")
        refs.append({"kind": kind.strip(), "id": name.strip()})
    return refs or None


def _manifest(file: Path) -> dict[str, Any]:
    text = inputs.content("-", None) if str(file) == "-" else inputs.read_file(file)
    return inputs.json_object(text, "FILE") or {}


declare(
    commands,
    Verb(
        names="list",
        call="playbooks.page",
        show=COLUMNS,
        empty="No playbooks yet. `{understudy} playbooks create FILE` stores one.",
    ),
    Verb(names="show get", call="playbooks.get", show=RECORD),
)
