"""The records of an unlearning: its target, its blast radius, its steps and its receipt."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final

from understudy.core.records import HIDDEN, Omitted

MIN_TEXT: Final = 4
MAX_TEXT: Final = 2_000
# The placeholder for a text that was cut out of a record.
MARK: Final = "[erased]"
# The separator between a skill or file and its version number.
AT: Final = "@"


class TargetKind(StrEnum):
    """The kinds of targets."""

    RUN = "run"
    SESSION = "session"
    LEARNING = "learning"
    CANDIDATE = "candidate"
    # A skill with all its versions, and one version: `slug@3`.
    SKILL = "skill"
    SKILL_VERSION = "skill_version"
    ASSET = "asset"
    # Every run of a source plugin, or of `user:ID` or `agent:ID`.
    SOURCE = "source"
    # Every record that contains a text.
    USER_TEXT = "user_text"


class UnlearnMode(StrEnum):
    """Whether the blast radius is revoked or erased."""

    REVOKE = "revoke"  # revoked, with its history
    ERASE = "erase"  # deleted, with its text


class UnlearnStatus(StrEnum):
    """The status of an unlearning."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class UnlearnStep(StrEnum):
    """The steps of an unlearning, in order; after a crash a step is repeated as a whole."""

    COLLECT = "collect"  # store the blast radius
    RETIRE = "retire"  # revoke learnings, candidates, rollouts, skills and files
    WITHDRAW = "withdraw"  # keep the runs out of later prompts
    READ = "read"  # add what was derived meanwhile, and the texts to search for
    ERASE = "erase"  # delete rows and files
    SCRUB = "scrub"  # cut copies of the texts out of remaining records
    SIGN = "sign"  # write the receipt, drop the search texts
    COMPACT = "compact"  # remove deleted content from free pages and the write-ahead log
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
    """The kinds of records in a blast radius."""

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
    PROJECT_TASK = "project_task"
    BACKGROUND_TASK = "background_task"
    REQUEST = "request"
    DELIVERY = "delivery"
    ARTIFACT = "artifact"
    CAPTURE = "capture"
    RUN_MEMORY = "run_memory"
    INDEX_ENTRY = "index_entry"
    LATER_RUN = "later_run"
    # A row of any other table, by table and key: it stays, without the text.
    RECORD = "record"


# Resources that stay, with copies of the text cut out.
KEPT: Final = frozenset({Resource.LATER_RUN, Resource.RECORD})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnTarget:
    """A target of an unlearning."""

    kind: TargetKind
    # Its id; for `user_text` the text itself, replaced by a digest once it is erased.
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastItem:
    """One record derived from a target, and its relation."""

    resource: Resource
    id: str
    # `target` itself, or how it was derived from another item.
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastRadius:
    """All records derived from a target. Runs in `later_prompts` stay, with copies cut out."""

    items: tuple[BlastItem, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    # Runs whose prompt may have contained the unlearned content.
    later_prompts: int = 0

    def ids(self, resource: Resource) -> tuple[str, ...]:
        """The ids of one resource."""
        return tuple(item.id for item in self.items if item.resource is resource)


def blast_radius(items: Iterable[BlastItem]) -> BlastRadius:
    """The items in a stable order, with counts."""
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
    # The keyed digest of the target's id, or of the text.
    target: str
    mode: UnlearnMode
    actor: str
    started_at_ms: int
    finished_at_ms: int
    counts: Mapping[str, int]
    # Journal events that became tombstones, and records from which a text was cut.
    tombstones: int = 0
    scrubbed: int = 0
    # Keyed digests of the items, by resource; only this database has the key.
    digests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Copies that the daemon cannot reach.
    out_of_reach: tuple[str, ...] = ()
    # The keyed digest over all fields above.
    signature: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnVerification:
    """Whether the stores still contain anything that a receipt names."""

    ok: bool
    found: tuple[BlastItem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnWork:
    """The data that steps pass on; dropped when the receipt is signed, as it has content."""

    items: tuple[BlastItem, ...] = ()
    texts: tuple[str, ...] = ()
    tombstones: int = 0
    scrubbed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlearn:
    """One unlearning and its progress."""

    unlearn_id: str
    target: UnlearnTarget
    mode: UnlearnMode
    status: UnlearnStatus
    step: UnlearnStep
    actor: str
    created_at_ms: int
    updated_at_ms: int
    reason: Omitted[str] = None
    # Why the last attempt of the step failed.
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
