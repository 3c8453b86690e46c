"""Run memory on the wire: records, what a prompt gets of them, what a search finds, and why."""

from typing import Literal, TypeAlias

from pydantic import Field

from understudy.runs.model import RunStatus
from understudy.wire.base import Omitted, ScopeLists, View
from understudy.wire.skills import OfferedSkill

ScopeKind: TypeAlias = Literal["session", "persona", "project", "workspace"]
ResultKind: TypeAlias = Literal["learning", "recovered_run", "skill"]
LearningKind: TypeAlias = Literal["run_summary", "fact", "preference", "decision", "procedure"]
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


class LearnedEntryView(View):
    """A learning as the prompt tells of it."""

    learning_id: str
    kind: LearningKind
    published_at_ms: int
    content: str


class LearnedContextView(View):
    """The learnings that the next prompt would tell of, best first."""

    entries: list[LearnedEntryView]
    # Whether there were more than a prompt may tell of.
    truncated: bool


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
    learned_context: Omitted[LearnedContextView] = None
    recovered_memory: Omitted[RecoveredMemoryView] = None
    # The first of them by name, and how many there are.
    visible_skills: list[OfferedSkill]
    visible_skill_count: int


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
    """A learning or a run in sight of the session, and what would become of it."""

    kind: ResultKind
    source_id: str
    # The same under the name of its kind.
    learning_id: Omitted[str] = None
    run_id: Omitted[str] = None
    scope: LearningScopeView
    # When it was published or recorded.
    timestamp_ms: int
    # The kind of a learning, the status of a run; absent for a run that cannot be read.
    label: Omitted[str] = None
    # What a prompt would say; absent for one that cannot be read or is sensitive.
    text: Omitted[str] = None
    # Its place among all of its kind, from 1.
    rank: int
    # A sensitive learning is not compared with the query: 0, without matches and tokens.
    score: float
    # The share of the query's weight that it covers, from 0 to 1.
    coverage: float
    matches: list[MatchView]
    # What it would take of the prompt.
    tokens: int
    # Whether it would reach the prompt, if there is room.
    injected: bool
    # The codes of all that keeps it out, the first of them or `included`, and a sentence.
    reasons: list[str]
    reason: str
    explanation: str


class MemoryExplainView(View):
    """Every record in sight of a session: learnings, then runs, each in the order of a prompt."""

    session_id: str
    query: Omitted[str] = None
    learning_scopes: list[LearningScopeView]
    # How many runs a prompt tells of at most, and how much of the query they must cover.
    max_prompt_entries: int
    relevance_floor: float
    # How many learnings a prompt tells of at most.
    max_learned_entries: int
    entries: list[ExplainedEntryView]
    # Whether there are more learnings than are listed.
    truncated: bool


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


class ReportedLearningView(View):
    """A learning that was looked at for the prompt of a run, as it stood then."""

    learning_id: str
    version: int
    kind: str
    # Such as `workspace:default`.
    scope: str
    published_at_ms: int
    score: float
    coverage: float
    matched: dict[str, list[str]]
    injected: bool
    # The codes of all that kept it out.
    reasons: list[str]
    explanation: str


class LearnedReportView(View):
    """What a run was told of learnings, and what not."""

    # `reported`, or `failed` with the problem as explanation.
    reason: str
    explanation: str
    injected_count: int
    omitted_count: int
    unlisted_count: int
    used_tokens: int
    entries: list[ReportedLearningView]


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
    # Absent for a run that began before there were learnings.
    learned: Omitted[LearnedReportView] = None
