"""The lab: scanners and parsers applied to a text that is not stored."""

from fastapi import APIRouter

from understudy.api.bodies import record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator
from understudy.api.services import Services
from understudy.core.records import reduced
from understudy.review.lab import LabText, LabVerdict
from understudy.wire.lab import InspectText, LabReportView, LabVerdictView
from understudy.wire.policies import RuleTraceView

router = APIRouter(tags=["lab"], route_class=GatedRoute)


@router.post("/v1/lab/inspect", operation_id="lab.inspect")
# Read-only, but CPU-bound, so viewers may not call it.
@operator(scans=True)
def inspect(body: InspectText, services: Services) -> LabReportView:
    """Try redaction, guard, statements and the policy on a text; nothing is stored."""
    report = services.lab.inspect(record_of(LabText, body))
    return LabReportView(
        redaction=report.redaction,
        guard=report.guard,
        statement=report.statement,
        policy=None if report.policy is None else _verdict(report.policy),
    )


def _verdict(verdict: LabVerdict) -> LabVerdictView:
    return LabVerdictView(
        policy_revision=verdict.policy_revision,
        outlook=verdict.outlook,
        rules=tuple(reduced(RuleTraceView, rule) for rule in verdict.trace.rules),
        adjustments=verdict.trace.adjustments,
    )
