"""Playbooks with their versions, and flows with their contract and what evidence is missing."""

from typing import Any, Final

from understudy.console.page import Listing
from understudy.console.visits import Visit

FLOWS: Final = 20
STAGES: Final = ("verified", "canary", "active")


async def _playbook(visit: Visit) -> dict[str, Any]:
    """A playbook, one of its versions in full, and its newest flows."""
    ids = {"playbook_id": visit.request.path_params["id"]}
    asked = {name: visit.query[name] for name in ("version",) if name in visit.query}
    record = await visit.call("playbooks.get", **asked, **ids)
    flows = await visit.call("flows.list", limit=FLOWS, **ids)
    return {
        "record": record,
        "shown_version": record["selected_version"],
        "flows": flows["items"],
        "stages": STAGES,
        "ids": ids,
        "twin": {**asked, **ids},
    }


async def _flow(visit: Visit) -> dict[str, Any]:
    """A flow, with the phases of its playbook and the evidence that each lacks."""
    ids = {"flow_id": visit.request.path_params["id"]}
    record = await visit.call("flows.get", **ids)
    ref = record["playbook_ref"]
    playbook = await visit.call(
        "playbooks.get", playbook_id=ref["playbook_id"], version=ref["version"]
    )
    manifest = playbook["selected_version"]["manifest"]
    states = {each["phase_id"]: each for each in record["phase_states"]}
    given = {(each["kind"], each["id"]) for each in record["evidence_refs"]}
    lacking = [each for phase in record["phase_states"] for each in phase["missing_evidence"]]
    named = {told for check in record["contract"]["checks"] for told in check["details"]}
    lacking += [
        each
        for each in manifest["required_evidence"]
        if f"{each['kind']}:{each['id']}" in named and (each["kind"], each["id"]) not in given
    ]
    return {
        "record": record,
        "manifest": manifest,
        "phases": [(phase, states[phase["phase_id"]]) for phase in manifest["phases"]],
        "lacking": list({(each["kind"], each["id"]): each for each in lacking}.values()),
        "ids": ids,
        "twin": ids,
    }


PAGES: Final = (
    *Listing(
        name="playbooks",
        all="playbooks.list",
        one="playbooks.get",
        key="playbook_id",
        columns=("title", "playbook_id", "active_version", "latest_version"),
        title="title",
        template="playbook.html",
        load=_playbook,
    ).pages(),
    *Listing(
        name="flows",
        all="flows.list",
        one="flows.get",
        key="flow_id",
        columns=("flow_id", "status", "session_id", "run_id", "created_at_ms"),
        title="flow_id",
        template="flow.html",
        load=_flow,
    ).pages(),
)
