"""Run memory on the wire: records, what a prompt gets of them, what a search finds, and why."""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, WithJsonSchema

from understudy.wire.base import JsonObject, Omitted, ScopeLists, View
from understudy.wire.runs import RunStatus

ScopeKind: TypeAlias = Literal["session", "persona", "project", "workspace"]
ResultKind: TypeAlias = Literal["learning", "recovered_run", "skill"]
SemanticCapture: TypeAlias = Literal["pending", "completed", "skipped"]


class LearningScopeView(View):
    """One place that knowledge is kept for."""

    kind: ScopeKind
    id: str


class RunMemoryBodyView(View):
    """What one run did, scrubbed and short."""

    run_id: str
    recorded_at_ms: int
    status: RunStatus
    request_preview: Omitted[str] = None
    outcome_preview: Omitted[str] = None
    artifact_ids: list[str]
    failure_markers: list[str]
    summary: str


class EvidenceView(View):
    """The scrubbed request and outcome of a run, longer than the previews."""

    request: str
    outcome: str


class RunMemoryView(View):
    """The record that a run left behind."""

    session_id: str
    scope_keys: list[str]
    semantic_capture: SemanticCapture
    memory: RunMemoryBodyView
    evidence: Omitted[EvidenceView] = None


class RunMemoryItem(View):
    """A record in a list."""

    run_id: str
    session_id: str
    recorded_at_ms: int
    semantic_capture: SemanticCapture
    # Absent where the record itself cannot be read.
    status: Omitted[RunStatus] = None
    summary: Omitted[str] = None


class RecoveredEntryView(View):
    """A run of the past as the prompt tells of it."""

    run_id: str
    recorded_at_ms: int
    status: RunStatus
    summary: str


class RecoveredMemoryView(View):
    """The runs that the next prompt would tell of, best first."""

    entries: list[RecoveredEntryView]
    # Whether there were more than the policy lets through.
    truncated: bool


class MemoryContextView(View):
    """What the next run of a session would be given to remember."""

    session_id: str
    effective_capability_scope: Omitted[ScopeLists] = None
    learning_scopes: list[LearningScopeView]
    learned_context: Omitted[JsonObject] = None
    recovered_memory: Omitted[RecoveredMemoryView] = None
    visible_skills: list[JsonObject]


class SearchResultView(View):
    """Something that a search found."""

    kind: ResultKind
    source_id: str
    title: str
    excerpt: str
    # 0 without a query.
    score: float
    timestamp_ms: int
    # The narrowest scope of the asking session that it was found through.
    scope: Omitted[LearningScopeView] = None
    # Whether it could reach a prompt of the asking session.
    prompt_eligible: bool
    learning_status: Omitted[str] = None
    publish_tier: Omitted[str] = None
    verification_status: Omitted[str] = None
    matched_fields: list[str]


class MemorySearchView(View):
    """What a session can find, best first; newest first without a query."""

    session_id: str
    effective_capability_scope: Omitted[ScopeLists] = None
    learning_scopes: list[LearningScopeView]
    query: Omitted[str] = None
    truncated: bool
    results: list[SearchResultView]


class MatchView(View):
    """What one field of a record gave."""

    field: str
    terms: list[str]
    points: float


class ExplainedEntryView(View):
    """A record of the session, and what would become of it."""

    run_id: str
    recorded_at_ms: int
    status: Omitted[RunStatus] = None
    summary: Omitted[str] = None
    score: float
    # The share of the query's weight that it covers, from 0 to 1.
    coverage: float
    matches: list[MatchView]
    # Whether it would reach the prompt, and a code and a sentence that say why.
    injected: bool
    reason: str
    explanation: str


class MemoryExplainView(View):
    """Every record of a session, in the order in which the prompt would take them."""

    session_id: str
    query: Omitted[str] = None
    max_prompt_entries: int
    relevance_floor: float
    entries: list[ExplainedEntryView]


class ReportedEntryView(View):
    """A record that was looked at for the prompt of a run."""

    run_id: str
    recorded_at_ms: int
    score: float
    coverage: float
    # The words of the input that it holds, by field.
    matched: dict[str, list[str]]
    injected: bool
    reason: str
    explanation: str


class MemoryBudgetView(View):
    """How many tokens the prompt could have, had without memories, and spent on them."""

    limit_tokens: int
    base_tokens: int
    memory_tokens: int
    used_tokens: int


class MemoryReportView(View):
    """What a run was given to remember, what was left out, and why."""

    run_id: str
    session_id: str
    # `reported`, or why nothing was given: `failed`, `not_started`, `not_recorded`.
    reason: str
    explanation: str
    injected_count: int = 0
    # Those for which there was no room.
    omitted_count: int = 0
    # Those that were looked at and are not listed here.
    unlisted_count: int = 0
    budget: Omitted[MemoryBudgetView] = None
    entries: list[ReportedEntryView] = Field(default_factory=list)


class RunMemoryPolicyFields(View):
    """How much is kept, for how long, and who may find it."""

    enabled: bool
    retention_ms: int
    max_tracked_per_session: int
    max_prompt_entries: int
    redact_pii: bool
    search_visibility: Literal["session_only", "learning_scopes"]
    relevance_floor: float


class RunMemoryPolicyView(View):
    """The run-memory policy in force."""

    policy: RunMemoryPolicyFields
    revision: int
    updated_at_ms: int


class RunMemoryPolicyRevisionView(RunMemoryPolicyView):
    """The policy as it stood after one change."""

    actor: str
    setting: str
    rollback_of_revision: Omitted[int] = None


_FIELDS: Final[JsonObject] = {
    "enabled": {"type": "boolean", "default": True},
    "retention_ms": {"type": "integer", "minimum": 0, "default": 2592000000},
    "max_tracked_per_session": {"type": "integer", "minimum": 0, "default": 32},
    "max_prompt_entries": {"type": "integer", "minimum": 0, "default": 3},
    "redact_pii": {"type": "boolean", "default": True},
    "search_visibility": {"enum": ["session_only", "learning_scopes"], "default": "session_only"},
    "relevance_floor": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
}
_EXPECTED: Final[JsonObject] = {"expected_revision": {"type": "integer"}}
# A policy wrapped or as it is; read by hand, because whatever is wrong with a policy has one code.
# What no body may hold, such as a number beyond 64 bits, is refused before, as everywhere.
SetRunMemoryPolicy: TypeAlias = Annotated[
    Any,
    WithJsonSchema(
        {
            "title": "SetRunMemoryPolicy",
            "anyOf": [
                {
                    "type": "object",
                    "required": ["policy"],
                    "properties": {
                        "policy": {
                            "type": "object",
                            "properties": _FIELDS,
                            "minProperties": 1,
                            "additionalProperties": False,
                        },
                        **_EXPECTED,
                    },
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {**_FIELDS, **_EXPECTED},
                    "minProperties": 1,
                    "additionalProperties": False,
                },
            ],
        }
    ),
]
