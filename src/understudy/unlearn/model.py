"""The records of an unlearning: its target, its blast radius, its steps and its receipt."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final

from understudy.core.records import HIDDEN, Omitted

MIN_TEXT: Final = 4
MAX_TEXT: Final = 2_000
# What stands where a text was cut out of a record that stays.
MARK: Final = "[erased]"
# Between a skill and the number of a version, an agent's file and its version.
AT: Final = "@"


class TargetKind(StrEnum):
    """What can be unlearned."""

    RUN = "run"
    SESSION = "session"
    LEARNING = "learning"
    CANDIDATE = "candidate"
    # A skill with all its versions, and one version: `slug@3`.
    SKILL = "skill"
    SKILL_VERSION = "skill_version"
    ASSET = "asset"
    # Every run that came by a source plugin, or of `user:ID` or `agent:ID`.
    SOURCE = "source"
    # Everything that holds a text.
    USER_TEXT = "user_text"


class UnlearnMode(StrEnum):
    """What becomes of the blast radius."""

    REVOKE = "revoke"  # out of use, history kept
    ERASE = "erase"  # the text is gone


class UnlearnStatus(StrEnum):
    """Where an unlearning stands."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class UnlearnStep(StrEnum):
    """The steps of an unlearning, in order; each is repeated whole after a crash."""

    COLLECT = "collect"  # the blast radius is written down
    RETIRE = "retire"  # learnings, candidates, rollouts, skills and files go out of use
    WITHDRAW = "withdraw"  # no later prompt is told of the runs
    READ = "read"  # what came of it meanwhile, and the texts to look for
    ERASE = "erase"  # rows and files go
    SCRUB = "scrub"  # copies of the texts are cut out of what stays
    SIGN = "sign"  # the receipt is written, the texts to look for go
    COMPACT = "compact"  # free pages and the write-ahead log hold nothing of it
    END = "end"


STEPS: Final[Mapping[UnlearnMode, tuple[UnlearnStep, ...]]] = {
    UnlearnMode.REVOKE: (
        UnlearnStep.COLLECT,
        UnlearnStep.RETIRE,
        UnlearnStep.WITHDRAW,
        UnlearnStep.SIGN,
        UnlearnStep.END,
    ),
    UnlearnMode.ERASE: tuple(UnlearnStep),
}


class Resource(StrEnum):
    """What a blast radius consists of."""

    SESSION = "session"
    RUN = "run"
    CANDIDATE = "candidate"
    LEARNING = "learning"
    ROLLOUT = "rollout"
    TRIAL = "trial"
    SKILL_VERSION = "skill_version"
    CONTEXT_FILE = "context_file"
    PROPOSAL = "proposal"
    ASSET = "asset"
    MESSAGE = "message"
    CHANNEL_MESSAGE = "channel_message"
    SCHEDULE = "schedule"
    TASK = "task"
    BACKGROUND_TASK = "background_task"
    REQUEST = "request"
    DELIVERY = "delivery"
    ARTIFACT = "artifact"
    CAPTURE = "capture"
    RUN_MEMORY = "run_memory"
    INDEX_ENTRY = "index_entry"
    LATER_RUN = "later_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnTarget:
    """What is to be unlearned."""

    kind: TargetKind
    # Its id; the text itself for `user_text`, and no more than a digest once that is erased.
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastItem:
    """One thing that came of a target, and how."""

    resource: Resource
    id: str
    # `target` itself, or how it came of something else in the list.
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastRadius:
    """Everything that came of a target. A run of `later_prompts` stays, without copies of the text."""

    items: tuple[BlastItem, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    # Runs whose prompt may have held what is unlearned.
    later_prompts: int = 0

    def ids(self, resource: Resource) -> tuple[str, ...]:
        """The ids of one resource."""
        return tuple(item.id for item in self.items if item.resource is resource)


def blast_radius(items: Iterable[BlastItem]) -> BlastRadius:
    """The items in a stable order, with their numbers."""
    ordered = tuple(sorted(items, key=lambda it: (tuple(Resource).index(it.resource), it.id)))
    counts = Counter(str(item.resource) for item in ordered)
    return BlastRadius(
        items=ordered, counts=dict(counts), later_prompts=counts[str(Resource.LATER_RUN)]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnReceipt:
    """What was unlearned, by whom and when: counts and keyed digests, no content."""

    unlearn_id: str
    kind: TargetKind
    # Keyed digest of the target's id, or of the text.
    target: str
    mode: UnlearnMode
    actor: str
    started_at_ms: int
    finished_at_ms: int
    counts: Mapping[str, int]
    # Journal events that became tombstones, and records from which a text was cut.
    tombstones: int = 0
    scrubbed: int = 0
    # Keyed digests of the items, by resource; only this database's key makes them.
    digests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Copies that no daemon can reach.
    out_of_reach: tuple[str, ...] = ()
    # Keyed digest of all of the above.
    signature: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnVerification:
    """Whether the stores still hold anything that a receipt names."""

    ok: bool
    found: tuple[BlastItem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnWork:
    """What the steps of an unlearning pass on; dropped when it is signed, for it holds content."""

    items: tuple[BlastItem, ...] = ()
    texts: tuple[str, ...] = ()
    tombstones: int = 0
    scrubbed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlearn:
    """One unlearning, as far as it has come."""

    unlearn_id: str
    target: UnlearnTarget
    mode: UnlearnMode
    status: UnlearnStatus
    step: UnlearnStep
    actor: str
    created_at_ms: int
    updated_at_ms: int
    reason: Omitted[str] = None
    # Why the last try of the step came to nothing.
    error: Omitted[str] = None
    receipt: Omitted[UnlearnReceipt] = None
    work: Annotated[UnlearnWork | None, HIDDEN] = None

    @property
    def next_step(self) -> UnlearnStep:
        """The step after this one."""
        steps = STEPS[self.mode]
        return steps[min(steps.index(self.step) + 1, len(steps) - 1)]


def ids_by_resource(items: Collection[BlastItem]) -> Mapping[str, Any]:
    """The ids of items, by resource."""
    found: dict[str, list[str]] = {}
    for item in items:
        found.setdefault(str(item.resource), []).append(item.id)
    return found
