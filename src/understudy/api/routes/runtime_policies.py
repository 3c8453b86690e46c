"""The learning policy and the run memory policy: versioned documents of the runtime settings."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Body
from pydantic import WithJsonSchema

from understudy.api.bodies import located
from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.pointer import pointer
from understudy.core.principal import Principal
from understudy.memory.policy import RUN_MEMORY_POLICY, RunMemoryPolicy
from understudy.memory.service import RunMemoryDryRun
from understudy.review.dry_run import DryRun
from understudy.review.policy import LEARNING_POLICY, LearningPolicy
from understudy.runtime.policy import PolicyKind, VersionedPolicy
from understudy.runtime.service import Revision
from understudy.runtime.two_people import TwoApprovers
from understudy.wire.policies import (
    DryRunLearningPolicy,
    PolicyRevisionView,
    PolicyView,
    TryRunMemoryPolicy,
    policy_schema,
)
from understudy.wire.runtime import RollBackRuntime

P = TypeVar("P")

router = APIRouter(tags=["policies"], route_class=GatedRoute)
RUN_MEMORY: Final = "/v1/runtime/run-memory-policy"
LEARNING: Final = "/v1/runtime/learning-policy"
SetRunMemoryPolicy = Annotated[Any, WithJsonSchema(policy_schema(RUN_MEMORY_POLICY)), Body()]
SetLearningPolicy = Annotated[Any, WithJsonSchema(policy_schema(LEARNING_POLICY)), Body()]

EXPECTED: Final = "expected_revision"
# More fields than any policy has; further errors are not listed.
MAX_FIELDS: Final = 50
MAX_NAME_CHARS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """The fields of a policy, and their place in the body."""

    given: Mapping[str, Any]
    expected_revision: int | None = None
    path: tuple[str, ...] = ()

    def located(self) -> AbstractContextManager[None]:
        """Prefix the pointers of field errors with their place in the body."""
        return located(*self.path)


@dataclass(frozen=True, slots=True)
class PolicyBodies:
    """Parses the bodies of one kind of policy; every error has the same code."""

    kind: PolicyKind[Any]

    def change(self, body: object) -> PolicyChange:
        """The policy of a body: bare, or wrapped beside its expected revision."""
        if not isinstance(body, dict):
            raise self._refused("", "must be an object that holds a policy")
        if "policy" in body:
            return self._wrapped(body)
        given = {name: value for name, value in body.items() if name != EXPECTED}
        return self._change(given, body, path=())

    def proposal(self, given: Mapping[str, Any]) -> PolicyChange:
        """The policy of a dry run, under `policy` in its body."""
        return self._change(given, {}, path=("policy",))

    def _wrapped(self, body: Mapping[str, Any]) -> PolicyChange:
        given = body["policy"]
        beside = sorted(name for name in body if name not in ("policy", EXPECTED))
        if beside:
            raise self._refused(pointer(beside[:1]), "no such field beside policy")
        if not isinstance(given, dict):
            raise self._refused("/policy", "must be an object")
        return self._change(given, body, path=("policy",))

    def _change(
        self, given: Mapping[str, Any], body: Mapping[str, Any], *, path: tuple[str, ...]
    ) -> PolicyChange:
        if not given:
            raise self._refused(pointer(path), "names no field of a policy")
        if len(given) > MAX_FIELDS or any(len(name) > MAX_NAME_CHARS for name in given):
            raise self._refused(pointer(path), "has fields that no policy has")
        return PolicyChange(given=given, expected_revision=self._expected(body), path=path)

    def _expected(self, body: Mapping[str, Any]) -> int | None:
        expected = body.get(EXPECTED)
        if expected is not None and (type(expected) is not int or abs(expected) >= 2**31):
            raise self._refused(f"/{EXPECTED}", "must be the number of a revision")
        return expected

    def _refused(self, where: str, detail: str) -> UnderstudyError:
        named = where.removeprefix("/") or "the body"
        return coded_error(f"runtime/{self.kind.code}", pointer=where, detail=f"{named}: {detail}")


def _shown(found: tuple[P, Revision]) -> PolicyView[P]:
    policy, revision = found
    return PolicyView(
        policy=policy, revision=revision.revision, updated_at_ms=revision.updated_at_ms
    )


def _set(service: VersionedPolicy[P], caller: Principal, body: object) -> PolicyView[P]:
    change = PolicyBodies(service.kind).change(body)
    with change.located():
        return _shown(
            service.set_policy(caller, change.given, expected_revision=change.expected_revision)
        )


def _revisions(service: VersionedPolicy[P], page: PageRequest) -> Page[PolicyRevisionView[P]]:
    kept = [
        PolicyRevisionView(
            policy=policy,
            revision=revision.revision,
            updated_at_ms=revision.updated_at_ms,
            actor=revision.actor,
            setting=revision.setting,
            rollback_of_revision=revision.rollback_of_revision,
        )
        for policy, revision in service.policy_revisions()
    ]
    return Page.cut(kept, page)


def _roll_back(
    service: VersionedPolicy[P], caller: Principal, body: RollBackRuntime | None
) -> PolicyView[P]:
    wanted = body or RollBackRuntime()
    return _shown(
        service.roll_back_policy(
            caller, wanted.target_revision, expected_revision=wanted.expected_revision
        )
    )


@router.get(RUN_MEMORY, operation_id="run_memory_policy.get")
@viewer()
def get_run_memory_policy(services: Services) -> PolicyView[RunMemoryPolicy]:
    """Show how much is remembered of runs, for how long, and who may find it."""
    return _shown(services.run_memories.policy())


@router.post(RUN_MEMORY, operation_id="run_memory_policy.set")
@admin(two=TwoApprovers.POLICY_CHANGE, action="runtime.change")
def set_run_memory_policy(
    services: Services, caller: Caller, body: SetRunMemoryPolicy = None
) -> PolicyView[RunMemoryPolicy]:
    """Replace the policy; what it no longer allows is removed before the answer comes."""
    return _set(services.run_memories, caller, body)


@router.get(RUN_MEMORY + "/revisions", operation_id="run_memory_policy.revisions")
@viewer()
def list_run_memory_policies(
    services: Services, page: Paging
) -> Page[PolicyRevisionView[RunMemoryPolicy]]:
    """List the policy after each change, newest first."""
    return _revisions(services.run_memories, page)


@router.post(RUN_MEMORY + "/rollback", operation_id="run_memory_policy.rollback")
@admin(two=TwoApprovers.POLICY_CHANGE, action="runtime.rollback")
def roll_back_run_memory_policy(
    services: Services, caller: Caller, body: RollBackRuntime | None = None
) -> PolicyView[RunMemoryPolicy]:
    """Restore the policy of an earlier revision, as a new revision; other settings stay."""
    return _roll_back(services.run_memories, caller, body)


@router.post(RUN_MEMORY + "/dry-run", operation_id="run_memory_policy.dry_run")
# Read-only, but CPU-bound, so viewers may not call it.
@operator()
def dry_run_run_memory_policy(services: Services, body: TryRunMemoryPolicy) -> RunMemoryDryRun:
    """List the records that a policy would delete at once; nothing changes."""
    proposal = PolicyBodies(RUN_MEMORY_POLICY).proposal(body.policy)
    with proposal.located():
        return services.run_memories.dry_run(proposal.given)


@router.get(LEARNING, operation_id="learning_policy.get")
@viewer()
def get_learning_policy(services: Services) -> PolicyView[LearningPolicy]:
    """Show what is captured from runs, what automation may do with it, and who decides first."""
    return _shown(services.learning.policy.policy())


@router.post(LEARNING, operation_id="learning_policy.set")
@admin(two=TwoApprovers.POLICY_CHANGE, action="runtime.change")
def set_learning_policy(
    services: Services, caller: Caller, body: SetLearningPolicy = None
) -> PolicyView[LearningPolicy]:
    """Replace the policy; an omitted field takes its default, and what waits is reviewed anew."""
    return _set(services.learning.policy, caller, body)


@router.get(LEARNING + "/revisions", operation_id="learning_policy.revisions")
@viewer()
def list_learning_policies(
    services: Services, page: Paging
) -> Page[PolicyRevisionView[LearningPolicy]]:
    """List the policy after each change, newest first."""
    return _revisions(services.learning.policy, page)


@router.post(LEARNING + "/rollback", operation_id="learning_policy.rollback")
@admin(two=TwoApprovers.POLICY_CHANGE, action="runtime.rollback")
def roll_back_learning_policy(
    services: Services, caller: Caller, body: RollBackRuntime | None = None
) -> PolicyView[LearningPolicy]:
    """Restore the policy of an earlier revision, as a new revision; other settings stay."""
    return _roll_back(services.learning.policy, caller, body)


@router.post(LEARNING + "/dry-run", operation_id="learning_policy.dry_run")
# Read-only, but CPU-bound, so viewers may not call it.
@operator()
def dry_run_learning_policy(body: DryRunLearningPolicy, services: Services) -> DryRun:
    """Try a policy on what waits and on what was decided lately; nothing changes."""
    proposal = PolicyBodies(LEARNING_POLICY).proposal(body.policy)
    with proposal.located():
        return services.learning.policy.dry_run(proposal.given, days=body.days)
