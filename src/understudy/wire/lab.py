"""The lab on the wire."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from understudy.core.records import OMIT
from understudy.learnings.model import MAX_CONTENT_CHARS, Kind
from understudy.review.dry_run import CandidateOutlook
from understudy.review.lab import MAX_LAB_CHARS, LabGuard, LabRedaction, LabStatement
from understudy.review.rule_match import Adjustment
from understudy.wire.base import Lax, RequestBody
from understudy.wire.policies import RuleTraceView


class InspectText(RequestBody):
    """A text to try, and the circumstances it would have as a candidate."""

    text: str = Field(min_length=1, max_length=MAX_LAB_CHARS)
    """The text to try."""
    other: str | None = Field(default=None, max_length=MAX_CONTENT_CHARS)
    """A second statement to compare it with."""
    kind: Lax[Kind] = Kind.FACT
    """The kind that it would have as a candidate."""
    confidence: int = Field(default=80, ge=0, le=100)
    """The confidence that it would have, from 0 to 100."""
    from_api: bool = False
    """Whether a person sent it to the API, rather than a run having found it."""
    derived_from_untrusted: bool = False
    """Whether it would derive from untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabVerdictView:
    """The result of the policy in force for the statement, rule by rule."""

    policy_revision: int
    outlook: CandidateOutlook
    rules: tuple[RuleTraceView, ...]
    adjustments: tuple[Adjustment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabReportView:
    """The results of all parts for a text."""

    redaction: LabRedaction
    guard: LabGuard
    statement: LabStatement
    # Absent for a text that may not be stored.
    policy: Annotated[LabVerdictView | None, OMIT] = None
