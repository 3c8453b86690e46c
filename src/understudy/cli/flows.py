"""`understudy flows`: starts of playbooks, their status, and missing evidence."""

from typing import Annotated, Any, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import InSession, Key, PageOptions, Text, TextFile
from understudy.cli.playbooks import evidence_refs
from understudy.cli.table import Verb, declare

commands = Commands("Flows: starts of playbooks, with their contract and evidence.")

FlowId = Annotated[str, typer.Argument(metavar="FLOW", help="The flow's id.")]
Evidence = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND:ID", help="What people attest, such as manual:review; repeatable."),
]


def missing(view: Any) -> list[str]:
    """The evidence and violations that keep the contract of a flow from passing."""
    return [told for check in view.contract.checks for told in check.details]


COLUMNS: Final[screen.Layout] = {
    "flow": "flow_id",
    "status": "status",
    "playbook": lambda item: f"{item.playbook_ref.playbook_id} {item.playbook_ref.version}",
    "session": "session_id",
    "started": "created_at_ms",
    "missing": lambda item: ", ".join(missing(item)) or None,
}
RECORD: Final[screen.Layout] = {
    "flow": "flow_id",
    "status": "status",
    "playbook": lambda view: f"{view.playbook_ref.playbook_id} {view.playbook_ref.version}",
    "digest": lambda view: view.playbook_ref.digest,
    "session": "session_id",
    "run": "run_id",
    "phases": lambda view: [f"{each.phase_id}: {each.status}" for each in view.phase_states],
    "contract": lambda view: [
        f"{'ok' if each.passed else 'NOT met'}  {each.name}" for each in view.contract.checks
    ],
    "missing": missing,
    "evidence": lambda view: [
        f"{each.kind}:{each.id} by {each.given_by}" for each in view.evidence_refs
    ],
    "runs": lambda view: list(view.primitive_refs.run_ids),
    "waits for": lambda view: [
        *(view.run.pending_approval_ids if view.run else ()),
        *(view.run.pending_question_ids if view.run else ()),
    ],
    "started": "created_at_ms",
    "ended": "completed_at_ms",
    "can": lambda view: list(view.actions),
}


@commands("list", show=COLUMNS, empty="No flows yet. `{understudy} flows start` starts one.")
def list_flows(
    daemon: DaemonConnection,
    page: PageOptions,
    playbook: Annotated[str | None, typer.Option(help="Only of this playbook.")] = None,
    session: InSession = None,
    status: Annotated[
        str | None,
        typer.Option(
            help="`running`, `waiting`, `succeeded`, `failed`, `cancelled` or `interrupted`."
        ),
    ] = None,
) -> object:
    """List flows, newest first."""
    return daemon.client.flows.page(playbook_id=playbook, session_id=session, status=status, **page)


@commands("start", show=RECORD)
def start(
    daemon: DaemonConnection,
    playbook_id: Annotated[str, typer.Argument(metavar="PLAYBOOK", help="The playbook's id.")],
    text: Text = None,
    file: TextFile = None,
    session: Annotated[
        str, typer.Option("--session", metavar="SESSION", help="Where it runs.")
    ] = "",
    version: Annotated[
        str | None, typer.Option("--version", help="Another than the active one.")
    ] = None,
    digest: Annotated[
        str | None, typer.Option(help="What it must say; left out, what is stored now.")
    ] = None,
    flow: Annotated[str | None, typer.Option("--id", help="An id of your own.")] = None,
    given: Annotated[
        str | None, typer.Option("--inputs", metavar="JSON", help="The inputs of the playbook.")
    ] = None,
    evidence: Evidence = None,
    provider: Annotated[str | None, typer.Option(metavar="ROUTE", help="Another route.")] = None,
    key: Key = None,
) -> object:
    """Start a playbook in a session; TEXT is the request."""
    from understudy.wire.playbooks import StartFlow

    if not session:
        raise typer.BadParameter("name the session with --session")
    found = daemon.client.playbooks.get(playbook_id, version=version)
    values = inputs.json_object(given, "--inputs")
    request = {
        "content": inputs.content(text, file),
        "metadata": None if values is None else {"inputs": values},
        "provider": provider,
    }
    wanted = inputs.request(
        StartFlow,
        playbook_ref={
            "playbook_id": playbook_id,
            "version": found.selected_version.version,
            "digest": digest or found.selected_version.digest,
        },
        session_id=session,
        request={name: value for name, value in request.items() if value is not None},
        flow_id=flow,
        evidence_refs=evidence_refs(evidence),
    )
    return daemon.client.flows.start(wanted, key=key)


@commands("evidence", "attest", show=RECORD)
def evidence(
    daemon: DaemonConnection,
    flow_id: FlowId,
    ref: Annotated[str, typer.Argument(metavar="KIND:ID", help="Such as manual:review.")],
    note: Annotated[str | None, typer.Option(help="What there is to say about it.")] = None,
) -> object:
    """Add evidence to a flow."""
    from understudy.wire.playbooks import EvidenceBody

    refs = [EvidenceBody(**each, description=note) for each in evidence_refs([ref]) or ()]
    return daemon.client.flows.evidence(flow_id, refs)


declare(
    commands,
    Verb(names="show get", call="flows.get", show=RECORD),
    Verb(names="cancel", call="flows.cancel", show=RECORD),
)
