"""Rules that turn a week's usage figures and repeated tool sequences into suggestions."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from understudy.core.clock import DAY_MS
from understudy.skills.model import Skill, SkillOrigin, Visibility
from understudy.skills.usage import SkillVersionUsage

# The minimum of a sequence that is worth a skill.
MIN_RUNS: Final = 3
MIN_CALLS: Final = 5
MIN_STEPS: Final = 3
MIN_TOOLS: Final = 2
MAX_STEPS: Final = 8
# How many calls of a run are read, and how many sequences of an agent are suggested.
MAX_READ: Final = 100
MOST: Final = 2
Steps = tuple[str, ...]
WINDOW_DAYS: Final = 7
WINDOW_MS: Final = WINDOW_DAYS * DAY_MS
# The minimum of ended runs before figures are judged.
MIN_ENDED: Final = 5
MIN_SUCCESS: Final = 0.5
MIN_OFFERED: Final = 20
REPEATED_TOOLS: Final = "repeated_tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTools:
    """The tools that a run called, in order."""

    run_id: str
    agent_id: str
    tools: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedSteps:
    """The same steps in several runs of an agent."""

    agent_id: str
    steps: Steps
    run_ids: tuple[str, ...]

    @property
    def work(self) -> int:
        """The number of steps in all these runs."""
        return len(self.steps) * len(self.run_ids)


def repeated_steps(runs: Iterable[RunTools]) -> tuple[RepeatedSteps, ...]:
    """The repeated steps of each agent: the sequences that save most work."""
    by_agent: dict[str, list[RunTools]] = defaultdict(list)
    for run in runs:
        by_agent[run.agent_id].append(run)
    return tuple(found for agent_id in sorted(by_agent) for found in _of_agent(by_agent[agent_id]))


def overlap(one: Steps, other: Steps) -> bool:
    """Whether two sequences share a long enough subsequence to be about the same."""
    return not _pieces(one).isdisjoint(_pieces(other))


def _pieces(steps: Steps) -> frozenset[Steps]:
    return frozenset(steps[at : at + MIN_STEPS] for at in range(len(steps) - MIN_STEPS + 1))


def _of_agent(runs: Sequence[RunTools]) -> Iterator[RepeatedSteps]:
    shared = {steps: run_ids for steps, run_ids in _found(runs).items() if len(run_ids) >= MIN_RUNS}
    # Most work first; ties by name, so that the order is stable.
    ranked = sorted(shared, key=lambda steps: (-len(steps) * len(shared[steps]), steps))
    told: list[Steps] = []
    for steps in ranked:
        if len(told) == MOST:
            return
        if not any(overlap(steps, each) for each in told):
            told.append(steps)
            yield RepeatedSteps(
                agent_id=runs[0].agent_id, steps=steps, run_ids=tuple(dict.fromkeys(shared[steps]))
            )


def _found(runs: Sequence[RunTools]) -> Mapping[Steps, list[str]]:
    """Every sequence that is long enough, with its runs."""
    found: dict[Steps, list[str]] = defaultdict(list)
    for run in runs:
        for steps in set(_sequences(run.tools)):
            found[steps].append(run.run_id)
    return found


def _sequences(tools: Sequence[str]) -> Iterator[Steps]:
    # Repeats of one step depend on the input and are collapsed.
    groups = [(name, len(list(same))) for name, same in groupby(tools[:MAX_READ])]
    for start in range(len(groups)):
        for end in range(start + MIN_STEPS, min(start + MAX_STEPS, len(groups)) + 1):
            part = groups[start:end]
            steps = tuple(name for name, _ in part)
            calls = sum(count for _, count in part)
            if calls >= MIN_CALLS and len(set(steps)) >= MIN_TOOLS:
                yield steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A suggestion with its evidence."""

    rule: str
    # What it is about; a rule makes one suggestion for a subject.
    subject: str
    # The text without figures, so that it is the same every week.
    content: str
    note: str
    run_ids: tuple[str, ...] = ()
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeSuggestion:
    """The last candidate of a suggestion."""

    rule: str
    subject: str
    candidate_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionState:
    """The state of the last candidate of a suggestion."""

    rule: str
    subject: str
    at_ms: int
    # Whether the candidate is still open.
    is_open: bool
    decided_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRule:
    """When the usage figures of a skill call for a suggestion, and its text, which never changes."""

    code: str
    applies: Callable[[SkillVersionUsage], bool]
    # The rank among findings of the rule.
    strength: Callable[[SkillVersionUsage], int]
    says: str
    # Whether a new version of the skill is a new subject.
    per_version: bool


RULES: Final = (
    UsageRule(
        code="low_success",
        applies=lambda it: it.ended >= MIN_ENDED and it.succeeded < MIN_SUCCESS * it.ended,
        strength=lambda it: it.ended - it.succeeded,
        says="Improve {skill}: fewer than half of the runs that used it within a week succeeded."
        " Look at what those runs did, and patch its steps.",
        per_version=True,
    ),
    UsageRule(
        code="unused",
        applies=lambda it: it.offered >= MIN_OFFERED and not it.used,
        strength=lambda it: it.offered,
        says="Say more plainly when to use {skill}, or switch it off: within a week many runs were"
        " told of it, and none used it.",
        per_version=False,
    ),
)
CODES: Final = (*(rule.code for rule in RULES), REPEATED_TOOLS)


def called_for(rule: UsageRule, usages: Iterable[SkillVersionUsage]) -> list[SkillVersionUsage]:
    """The usage figures that a rule applies to, strongest first."""
    found = (usage for usage in usages if rule.applies(usage))
    return sorted(found, key=lambda it: (-rule.strength(it), it.ref, it.version))


def subject_of(rule: UsageRule, usage: SkillVersionUsage) -> str:
    """The subject of a suggestion."""
    return f"{usage.ref} {usage.version}" if rule.per_version else usage.ref


def suggested_by(rule: UsageRule, skill: Skill, usage: SkillVersionUsage) -> Suggestion | None:
    """The suggestion of a rule for the current version of a skill; None for a system skill."""
    if skill.is_system or usage.version != skill.version or not rule.applies(usage):
        return None
    return _suggestion(rule, skill, usage)


def by_strength(found: Iterable[RepeatedSteps]) -> list[RepeatedSteps]:
    """Repeated steps, most work first."""
    return sorted(found, key=lambda it: (-it.work, it.agent_id, it.steps))


def suggested_for(found: RepeatedSteps) -> Suggestion:
    """The suggestion to make a skill of repeated steps."""
    return Suggestion(
        rule=REPEATED_TOOLS,
        subject=json.dumps([found.agent_id, *found.steps]),
        content=f"Make a skill of what agent {found.agent_id} does again and again: it uses the"
        f" tools {', '.join(found.steps)} in this order. Keep what those runs have in common, and"
        " have it ask for what differs.",
        note=f"{len(found.run_ids)} runs took these steps within {WINDOW_DAYS} days",
        run_ids=found.run_ids,
        agent_id=found.agent_id,
    )


def group_of(rule: str, subject: str) -> str:
    """The group of a suggestion: equal for suggestions that may be about the same."""
    return str(json.loads(subject)[0]) if rule == REPEATED_TOOLS else subject


def same_subject(rule: str, one: str, other: str) -> bool:
    """Whether two suggestions of a rule are about the same subject, or overlapping steps."""
    if one == other or rule != REPEATED_TOOLS:
        return one == other
    (agent, *steps), (other_agent, *other_steps) = json.loads(one), json.loads(other)
    return bool(agent == other_agent) and overlap(tuple(steps), tuple(other_steps))


def _suggestion(rule: UsageRule, skill: Skill, usage: SkillVersionUsage) -> Suggestion:
    has_version = rule.per_version and skill.origin is not SkillOrigin.LOCAL
    return Suggestion(
        rule=rule.code,
        subject=subject_of(rule, usage),
        content=rule.says.format(
            skill=f"version {usage.version} of the skill {_called(skill)}"
            if has_version
            else f"the skill {_called(skill)}"
        ),
        note=f"within {WINDOW_DAYS} days: offered {usage.offered}, used {usage.used},"
        f" succeeded {usage.succeeded}, failed {usage.failed}, abandoned {usage.abandoned}",
    )


def _called(skill: Skill) -> str:
    """The slug of a public skill; the id of others, which reveals nothing."""
    return skill.slug if skill.visibility is Visibility.PUBLIC else skill.skill_id
