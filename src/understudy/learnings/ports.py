"""What the learning plane needs from outside: its stores, and the units that hold them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from understudy.core.page import Page, PageRequest
from understudy.learnings.filters import CandidateFilter, LearningFilter
from understudy.learnings.model import AutomationReview, Candidate, Kind, Learning
from understudy.memory.ports import MemoryUnit
from understudy.sessions.learning_scopes import LearningScope

# What the index of terms calls learnings.
TERM_KIND: Final = "learning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many candidates of one capture path, decided by one rule, are in one state."""

    capture_path: str
    # The rule that matched; None where none did or nobody reviewed.
    rule: str | None
    state: str
    # Whether the daemon decided rather than a person.
    is_automatic: bool
    count: int
    # Whether nobody decided in time: rejected by the daemon with the reason `EXPIRED`.
    is_expired: bool = False


class Expired(NamedTuple):
    """A candidate whose time is over; in the order in which they are gone through."""

    expires_at_ms: int
    candidate_id: str


class CandidateStore(Protocol):
    """Candidates by id."""

    def get(self, candidate_id: str, *, lock: bool = False) -> Candidate | None: ...

    def add(self, candidate: Candidate) -> bool:
        """Keep a new candidate; False when there is one that may stand only once.

        That is a daemon's candidate of the same run with the same scope, kind and semantic key,
        or any second run summary of one run.
        """
        ...

    def update(self, candidate: Candidate, *, expected_version: int) -> None: ...

    def page(
        self, request: PageRequest, *, narrowed: CandidateFilter, now_ms: int
    ) -> Page[Candidate]:
        """Candidates by id, oldest first; an open one past its time is not among them."""
        ...

    def next_open(self, *, after: str | None, now_ms: int) -> Candidate | None:
        """The oldest candidate that waits for a person, after one that was passed over."""
        ...

    def of_run(self, run_id: str) -> tuple[Candidate, ...]:
        """What the daemon proposed from a run, in the order in which it did."""
        ...

    def rejected_by_people(
        self, scope: LearningScope, kind: Kind, semantic_key: str
    ) -> tuple[Candidate, ...]:
        """The same thing where a person said no, newest first; at most fifty."""
        ...

    def proposed_with_key(
        self, scope: LearningScope, kind: Kind, semantic_key: str, *, now_ms: int
    ) -> Candidate | None:
        """The same thing where the daemon proposed it and somebody has yet to decide."""
        ...

    def decided_since(self, since_ms: int, *, limit: int) -> tuple[Candidate, ...]:
        """Candidates that were decided since a time, newest first."""
        ...

    def open_ones(self, *, after: str | None, limit: int, now_ms: int) -> tuple[Candidate, ...]:
        """Pending and escalated candidates after an id, by id."""
        ...

    def expired(
        self, *, now_ms: int, limit: int, after: Expired | None = None
    ) -> tuple[Expired, ...]:
        """Open candidates whose time is over, and for the longest first; readable or not."""
        ...

    def tallies(self) -> tuple[Tally, ...]:
        """How many there are, by path, rule and state."""
        ...

    def queue_pending(self, *, due_at_ms: int, unreviewed_under: str | None = None) -> int:
        """Have pending candidates reviewed; tells how many were queued.

        All of them, and whoever holds one loses it: what it was claimed under has changed. Or only
        those without a review under a policy, and then what is queued already stays as it is.
        """
        ...


class LearningStore(Protocol):
    """Learnings by id; what is live is also in the index of terms."""

    def hold(self, scope: LearningScope) -> None:
        """Let nobody else publish in this scope until the unit ends."""
        ...

    def get(self, learning_id: str, *, lock: bool = False) -> Learning | None: ...

    def add(self, learning: Learning) -> None: ...

    def update(self, learning: Learning, *, expected_version: int) -> None: ...

    def page(self, request: PageRequest, *, narrowed: LearningFilter) -> Page[Learning]:
        """Learnings by id, oldest first."""
        ...

    def matching(self, narrowed: LearningFilter, *, limit: int) -> tuple[Learning, ...]:
        """The same without pages."""
        ...

    def of_candidate(self, candidate_id: str) -> Learning | None:
        """The learning that was made from a candidate."""
        ...

    def with_key(self, scope: LearningScope, kind: Kind, semantic_key: str) -> tuple[Learning, ...]:
        """Live learnings that say this, in this scope and of this kind."""
        ...

    def revoked_by_people(
        self, scopes: Sequence[LearningScope], kind: Kind, semantic_key: str
    ) -> tuple[Learning, ...]:
        """What said this in one of these scopes until a person took it back, newest first; at most fifty."""
        ...

    def about(
        self,
        kind: Kind,
        subject_key: str,
        *,
        limit: int,
        scopes: Sequence[LearningScope] | None = None,
    ) -> tuple[Learning, ...]:
        """Active learnings of a kind about a subject, of these scopes or of all, newest first."""
        ...

    def on_subjects(
        self, scopes: Sequence[LearningScope], subject_keys: Sequence[str], *, limit: int
    ) -> tuple[Learning, ...]:
        """Live learnings in any of these scopes about any of these subjects, newest first."""
        ...

    def replacing(self, learning_ids: Sequence[str]) -> dict[str, Learning]:
        """For each of these the newest live learning that names it in `supersedes`, if any."""
        ...

    def readable(self, learning_ids: Sequence[str]) -> dict[str, Learning]:
        """Those of these that there are and that can be read."""
        ...

    def newest_in(self, scopes: Sequence[LearningScope], *, limit: int) -> tuple[Learning, ...]:
        """Live learnings of each of these scopes, at most `limit` of each, last published first."""
        ...

    def count_by_status(self) -> dict[str, int]:
        """How many there are of each status."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One learning in the prompt of one run, as it stood then."""

    learning_id: str
    learning_version: int
    run_id: str
    session_id: str
    at_ms: int


class UseStore(Protocol):
    """Which runs were told of which learnings."""

    def add(self, uses: Iterable[Use]) -> None:
        """Note them; one that is there already is fine."""
        ...

    def of_learning(self, learning_id: str, request: PageRequest) -> Page[Use]:
        """The runs that were told, newest first."""
        ...

    def count(self, learning_id: str) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Something that a worker has taken on: a candidate to review, or a run to learn from."""

    job_id: str
    # How many times it was tried before.
    attempts: int
    # Proof of the claim; whoever settles it must still hold it.
    claim: str
    # Whether it was taken from the lane of those that need a model, and so may ask one.
    may_ask: bool = False


class JobQueue(Protocol):
    """Work by the id of what it is about, each at most once; any number of daemons share it.

    It has two lanes, so that what needs no model never waits for what does. All begin in the first
    one; who finds that a model must be asked gives the job back to the second.
    """

    def put(self, job_ids: Sequence[str], *, due_at_ms: int) -> None:
        """Have these done; one that waits already stays, due no later, tried anew from zero.

        One that somebody holds is left to them, and is done once more when they are finished.
        """
        ...

    def put_missing(self, job_ids: Sequence[str], *, due_at_ms: int) -> int:
        """Have those of these done that nobody waits for yet; tells how many that were."""
        ...

    def next_due_ms(
        self, *, needs_model: bool = False, besides: Collection[str] = ()
    ) -> int | None:
        """When the next one of a lane is due, besides some; None when nothing waits."""
        ...

    def claim(
        self,
        *,
        now_ms: int,
        until_ms: int,
        limit: int,
        needs_model: bool = False,
        besides: Collection[str] = (),
    ) -> tuple[Job, ...]:
        """Take up to so many of a lane that are due and that nobody holds, oldest first."""
        ...

    def holds(self, job: Job) -> bool:
        """Whether the claim still stands; the row is held until the unit ends."""
        ...

    def extend(self, job: Job, *, until_ms: int) -> bool:
        """Have the claim stand until then; False when it was lost meanwhile."""
        ...

    def done(self, job: Job) -> bool:
        """Take it off the queue; False when the claim was lost meanwhile."""
        ...

    def retry(self, job: Job, *, due_at_ms: int, error: str) -> bool:
        """Put it back with one more attempt; False when the claim was lost meanwhile."""
        ...

    def give_back(self, job: Job, *, due_at_ms: int, needs_model: bool | None = None) -> bool:
        """Put it back as if nobody had taken it, in its lane or another; False when it was lost."""
        ...

    def pull_back(self, *, now_ms: int, waiting_until_ms: int, held_until_ms: int) -> int:
        """Have those due now that are due later than these; tells how many that were."""
        ...

    def size(self) -> int: ...


class ReviewStore(Protocol):
    """What automation made of candidates, under each policy."""

    def get(self, candidate_id: str, policy_digest: str) -> AutomationReview | None: ...

    def put(self, candidate_id: str, policy_digest: str, review: AutomationReview) -> None: ...

    def of_candidate(self, candidate_id: str) -> tuple[AutomationReview, ...]:
        """All of them, newest first."""
        ...


class LearningUnit(MemoryUnit, Protocol):
    """One transaction over the learning plane and everything beneath it."""

    @property
    def candidates(self) -> CandidateStore: ...

    @property
    def learnings(self) -> LearningStore: ...

    @property
    def learning_uses(self) -> UseStore: ...

    @property
    def reviews(self) -> ReviewStore: ...

    @property
    def review_queue(self) -> JobQueue: ...

    @property
    def capture_queue(self) -> JobQueue: ...
