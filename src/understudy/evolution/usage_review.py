"""Reviews a week of runs periodically, and proposes candidates for suggestions."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.clock import DAY_MS, Clock
from understudy.core.errors import DamagedRecord, UnderstudyError
from understudy.core.principal import DAEMON
from understudy.evolution.usage_rules import (
    RULES,
    WINDOW_MS,
    MadeSuggestion,
    RepeatedSteps,
    RunTools,
    Suggestion,
    SuggestionState,
    UsageRule,
    by_strength,
    called_for,
    group_of,
    repeated_steps,
    same_subject,
    subject_of,
    suggested_by,
    suggested_for,
)
from understudy.learnings.already_decided import declined
from understudy.learnings.checks import MAX_EVIDENCE_REFS
from understudy.learnings.events import NO_LISTENERS, Listeners
from understudy.learnings.guard import NO_LITERALS, SecretGuard, texts_of
from understudy.learnings.model import (
    Candidate,
    CapturePath,
    EvidenceRef,
    Kind,
    LearningSource,
    Origin,
)
from understudy.learnings.proposal import NewCandidate, make_candidate, propose
from understudy.runs.model import Run
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.skills.access import is_live
from understudy.skills.model import Skill
from understudy.skills.usage import SkillVersionUsage

if TYPE_CHECKING:
    from understudy.storage.evolution import SuggestionStore
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()


# How long a suggestion is not repeated after a decision.
COOLDOWN_MS: Final = WINDOW_MS
# How many runs of an agent are compared.
PER_AGENT: Final = 50
# How many runs one review reads, as tool results are long; the next review goes on.
MOST_READ: Final = 500
# Expiry of a candidate that nobody decides on.
KEPT_MS: Final = 30 * DAY_MS
# Daemons on the same database share one review.
REST_MS: Final = 60 * 1000
# Limits for people: new candidates per review, and open ones.
MOST_AT_ONCE: Final = 10
MOST_OPEN: Final = 50
CONFIDENCE: Final = 60
SHOWN_RUNS: Final = MAX_EVIDENCE_REFS - 1
# Topic that wakes the review.
TOPIC: Final = "suggestions"


class Resting:
    """The suggestions that are open, or were decided lately."""

    def __init__(self, made: Iterable[SuggestionState], *, now_ms: int) -> None:
        self._subjects: dict[tuple[str, str], list[str]] = defaultdict(list)
        for each in made:
            if _rests(each, now_ms=now_ms):
                self._subjects[each.rule, group_of(each.rule, each.subject)].append(each.subject)

    def has(self, rule: str, subject: str) -> bool:
        """Whether a suggestion must not be repeated."""
        near = self._subjects.get((rule, group_of(rule, subject)), ())
        return any(same_subject(rule, subject, each) for each in near)


def _rests(made: SuggestionState, *, now_ms: int) -> bool:
    return made.is_open or (made.decided_at_ms or made.at_ms) + COOLDOWN_MS > now_ms


RunIds = tuple[str, ...]


@dataclass(slots=True)
class Habits:
    """A cache of the tool sequences of runs, which do not change after their end."""

    _tools: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _found: dict[str, tuple[RunIds, tuple[RepeatedSteps, ...]]] = field(default_factory=dict)

    def look(self, store: "SuggestionStore", *, since_ms: int) -> tuple[RepeatedSteps, ...]:
        """The steps that runs of each agent share since then."""
        recent = store.tool_runs(since_ms=since_ms, per_agent=PER_AGENT)
        self._read(store, recent)
        self._found = {agent_id: self._of(agent_id, runs) for agent_id, runs in recent.items()}
        return tuple(each for _, found in self._found.values() for each in found)

    def _read(self, store: "SuggestionStore", recent: Mapping[str, RunIds]) -> None:
        run_ids = [run_id for runs in recent.values() for run_id in runs]
        unknown = islice((run_id for run_id in run_ids if run_id not in self._tools), MOST_READ)
        known = {**self._tools, **store.tools_of(tuple(unknown))}
        self._tools = {run_id: known[run_id] for run_id in run_ids if run_id in known}

    def _of(self, agent_id: str, run_ids: RunIds) -> tuple[RunIds, tuple[RepeatedSteps, ...]]:
        read = tuple(run_id for run_id in run_ids if run_id in self._tools)
        before = self._found.get(agent_id)
        if before is not None and before[0] == read:
            return before
        runs = (
            RunTools(run_id=run_id, agent_id=agent_id, tools=self._tools[run_id]) for run_id in read
        )
        return read, repeated_steps(runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggester:
    """Makes candidates from usage rules; never changes a skill or an agent."""

    units: "Units"
    clock: Clock
    # A lease of one daemon at a time; tells whether this daemon has it.
    if_free: Callable[[], AbstractContextManager[bool]] = lambda: nullcontext(enter_result=True)
    listeners: Listeners = NO_LISTENERS
    guard: SecretGuard = NO_LITERALS
    # The record of a local skill.
    local_skill: Callable[[str], Skill | None] = lambda _: None
    # Wakes the review worker.
    wake: Callable[[], None] = lambda: None
    habits: Habits = field(default_factory=Habits)

    def ended(self, unit: "Unit", _: Run) -> None:
        """Wake the review after the commit that ends a run."""
        unit.after_commit(self.wake)

    def look(self) -> int:
        """Review the last week, unless another daemon does or just did; answers the number of candidates."""
        with self.if_free() as is_free:
            return self.look_now() if is_free and self._begins() else 0

    def look_now(self) -> int:
        """Review the last week once; answers the number of candidates."""
        with self.units.read() as unit:
            chosen = self._chosen(unit)
        made = sum(self._propose(each) for each in chosen)
        if made:
            log.info("suggestions.made", number=made)
        return made

    def _begins(self) -> bool:
        now = self.clock.now_ms()
        with self.units.write() as unit:
            last = unit.suggestions.looked_at_ms()
            # A review in the future was recorded before the clock was set back.
            if last is not None and 0 <= now - last < REST_MS:
                return False
            unit.suggestions.note_look(now)
            unit.suggestions.forget(before_ms=now - KEPT_MS - 2 * COOLDOWN_MS)
        return True

    def _chosen(self, unit: "Unit") -> tuple[Suggestion, ...]:
        """The suggestions to make, within the limits."""
        states = unit.suggestions.states()
        room = min(MOST_AT_ONCE, MOST_OPEN - sum(each.is_open for each in states))
        if room <= 0:
            return ()
        resting = Resting(states, now_ms=self.clock.now_ms())
        wanted = (each for each in self._found(unit, resting) if self._is_new(unit, each))
        return tuple(islice(wanted, room))

    def _found(self, unit: "Unit", resting: Resting) -> Iterator[Suggestion]:
        """The new findings of the rules: of each rule in turn the strongest."""
        since = self.clock.now_ms() - WINDOW_MS
        usages = unit.skill_uses.usage_since(since)
        rules = [self._by_figures(unit, rule, usages, resting, since) for rule in RULES]
        in_turn = zip_longest(*rules, self._by_habit(unit, resting, since))
        return (each for turn in in_turn for each in turn if each is not None)

    def _by_figures(
        self,
        unit: "Unit",
        rule: UsageRule,
        usages: Sequence[SkillVersionUsage],
        resting: Resting,
        since_ms: int,
    ) -> Iterator[Suggestion]:
        for usage in called_for(rule, usages):
            if resting.has(rule.code, subject_of(rule, usage)):
                continue
            skill = self._skill(unit, usage.ref)
            found = None if skill is None else suggested_by(rule, skill, usage)
            if found is not None:
                run_ids = unit.skill_uses.runs_that_used(
                    usage.ref, usage.version, since_ms=since_ms, limit=SHOWN_RUNS
                )
                yield replace(found, run_ids=run_ids)

    def _by_habit(self, unit: "Unit", resting: Resting, since_ms: int) -> Iterator[Suggestion]:
        habits = self.habits.look(unit.suggestions, since_ms=since_ms)
        found = (suggested_for(steps) for steps in by_strength(habits))
        return (each for each in found if not resting.has(each.rule, each.subject))

    def _skill(self, unit: "Unit", ref: str) -> Skill | None:
        """The skill of usage figures, if agents can be offered it."""
        try:
            skill = unit.skills.get(ref) or self.local_skill(ref)
        except DamagedRecord:
            return None
        return skill if skill is not None and is_live(skill) and skill.enabled else None

    def _is_new(self, unit: "Unit", found: Suggestion) -> bool:
        try:
            return self._candidate(unit, found) is not None
        except UnderstudyError as problem:
            # For example a name that a candidate may not contain; the others are still proposed.
            log.info("suggestions.not_made", rule=found.rule, reason=problem.code)
            return False

    def _propose(self, found: Suggestion) -> bool:
        now = self.clock.now_ms()
        try:
            with self.units.write() as unit:
                # Checked again: a person may have decided meanwhile.
                candidate = self._candidate(unit, found)
                if candidate is None:
                    return False
                unit.suggestions.put(_made(found, candidate))
                return propose(unit, candidate, by=DAEMON, now_ms=now, listeners=self.listeners)
        except UnderstudyError as problem:
            log.warning("suggestions.not_made", rule=found.rule, reason=problem.code)
            return False

    def _candidate(self, unit: "Unit", found: Suggestion) -> Candidate | None:
        """The candidate of a suggestion; None where it is known, or was declined with the same evidence."""
        now = self.clock.now_ms()
        digest = _digest(found)
        before = declined(unit, WORKSPACE, Kind.PROCEDURE, found.content, digest=digest)
        if before is not None and before.is_repeated:
            return None
        wanted = replace(
            _wanted(found, now_ms=now),
            evidence_digest=digest,
            reproposal_of=before.candidate_id if before else None,
            declined_before=before is not None,
        )
        self.guard.check(texts_of(wanted))
        candidate = make_candidate(wanted, origin=Origin.DAEMON, now_ms=now)
        known = unit.learnings.with_key(WORKSPACE, Kind.PROCEDURE, candidate.semantic_key)
        return None if known else candidate


def _wanted(found: Suggestion, *, now_ms: int) -> NewCandidate:
    runs = (EvidenceRef(run_id=run_id) for run_id in found.run_ids[:SHOWN_RUNS])
    return NewCandidate(
        scope=WORKSPACE,
        kind=Kind.PROCEDURE,
        content=found.content,
        confidence=CONFIDENCE,
        source=LearningSource(agent_id=found.agent_id),
        evidence_refs=(EvidenceRef(note=found.note), *runs),
        expires_at_ms=now_ms + KEPT_MS,
        capture_path=CapturePath.USAGE,
        # Names of tools and skills are untrusted.
        derived_from_untrusted=True,
    )


def _digest(found: Suggestion) -> str:
    """The digest of the evidence, so that the same runs are no new evidence."""
    told = "\n".join((found.rule, found.subject, *sorted(found.run_ids)))
    return hashlib.sha256((told if found.run_ids else f"{told}\n{found.note}").encode()).hexdigest()


def _made(found: Suggestion, candidate: Candidate) -> MadeSuggestion:
    return MadeSuggestion(
        rule=found.rule,
        subject=found.subject,
        candidate_id=candidate.candidate_id,
        at_ms=candidate.created_at_ms,
    )
