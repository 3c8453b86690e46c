"""Policies on the wire: the records themselves, with their revision."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, TypeVar

from pydantic import Field

from understudy.core.records import OMIT, OMITTED_MARK
from understudy.learnings.model import Mode, ReviewAction
from understudy.review.dry_run import MAX_DAYS
from understudy.review.rule_match import Adjustment, Mismatch
from understudy.runtime.policy import PolicyKind
from understudy.wire.base import JsonObject, RequestBody

P = TypeVar("P")

_EXPECTED: Final[JsonObject] = {"expected_revision": {"type": "integer"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView(Generic[P]):
    """A policy in force."""

    policy: P
    revision: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRevisionView(PolicyView[P]):
    """A policy after one change."""

    actor: str
    setting: str
    rollback_of_revision: Annotated[int | None, OMIT] = None


def policy_schema(kind: PolicyKind[Any]) -> JsonObject:
    """The schema of a policy in a request: plain, or wrapped with the expected revision.

    The body is parsed by hand, because every error of a policy has one code.
    """
    made = kind.adapter.json_schema()
    policy = _closed(made, made.get("$defs", {})) | {"minProperties": 1}
    wrapped = {"policy": policy, **_EXPECTED}
    return {
        "title": f"Set{made['title']}",
        "anyOf": [
            {"type": "object", "properties": wrapped, "required": ["policy"]}
            | {"additionalProperties": False},
            policy | {"properties": {**policy["properties"], **_EXPECTED}},
        ],
    }


def _closed(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema without references, whose objects have no other properties."""
    if isinstance(schema, list):
        return [_closed(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        schema = {**definitions[name], **{k: v for k, v in schema.items() if k != "$ref"}}
    closed = {
        name: _closed(value, definitions)
        for name, value in schema.items()
        if name not in ("$defs", OMITTED_MARK)
    }
    if "properties" in schema:
        closed["additionalProperties"] = False
    # A field that an answer omits may be sent as null.
    return {"anyOf": [closed, {"type": "null"}]} if OMITTED_MARK in schema else closed


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTraceView:
    """The result of one policy rule for a candidate."""

    # Its place among the rules, from 0.
    index: int
    name: Annotated[str | None, OMIT] = None
    action: ReviewAction
    # Whether every field matches; a rule in quarantine may match and does not decide.
    matched: bool
    quarantined: bool
    # Whether it is the first rule that matches and decides.
    decided: bool
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateExplainView:
    """The decision of the active policy on a candidate, and why."""

    candidate_id: str
    policy_revision: int
    mode: Mode
    action: ReviewAction
    matched_rule_name: Annotated[str | None, OMIT] = None
    reason: str
    # The answers that the judge may give; empty where it is not asked.
    judge_may: tuple[ReviewAction, ...]
    # When the published learning would expire.
    expires_at_ms: Annotated[int | None, OMIT] = None
    # Why the secret check rejects it before any rule is evaluated.
    refused: Annotated[str | None, OMIT] = None
    rules: tuple[RuleTraceView, ...]
    adjustments: tuple[Adjustment, ...]


class DryRunLearningPolicy(RequestBody):
    """A policy to try on open candidates, and on those decided in the last days."""

    policy: JsonObject
    """The policy to try."""
    days: int = Field(default=7, ge=1, le=MAX_DAYS)
    """Candidates decided in the last days count as well; how many days."""


class TryRunMemoryPolicy(RequestBody):
    """A run-memory policy to try on the existing records."""

    policy: JsonObject
    """The policy to try."""
