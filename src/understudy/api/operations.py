"""What each operation needs: a role, the name the audit knows it by, care with repeats."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from understudy.api.limits import MAX_BODY_BYTES
from understudy.core.principal import Role
from understudy.skills.bundles.archive import MAX_ARCHIVE_BYTES

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# POST does the same as PUT on these paths; the operation id tells them apart.
POST_TWIN: Final = "_by_post"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing a caller can ask for."""

    # None: anybody may, without a token.
    role: Role | None
    # What the services write into the audit, where it is not the operation id.
    action: str | None = None
    # The field of the body that names the resource, where the path does not.
    body_id: str | None = None
    # Whether the operation keeps idempotency receipts of its own.
    own_receipts: bool = False
    # Parts of the answer that must not be stored for a repeat.
    secret: tuple[str, ...] = ()
    # The fields of the form that the body is; JSON where there are none.
    form: frozenset[str] = frozenset()
    max_body_bytes: int = MAX_BODY_BYTES


_VIEW: Final = Operation(role=Role.VIEWER)
_WORK: Final = Operation(role=Role.OPERATOR)
_RULE: Final = Operation(role=Role.ADMIN)
_OPEN: Final = Operation(role=None)

OPERATIONS: Final[Mapping[str, Operation]] = {
    "probes.health": _OPEN,
    "probes.readiness": _OPEN,
    "metrics.read": _VIEW,
    "status.read": _VIEW,
    "events.stream": _VIEW,
    "sessions.list": _VIEW,
    "sessions.get": _VIEW,
    "sessions.events": _VIEW,
    "sessions.checkpoints": _VIEW,
    "sessions.stream": _VIEW,
    "sessions.reply_targets": _VIEW,
    "sessions.create": Operation(role=Role.OPERATOR, body_id="session_id"),
    "sessions.bind_persona": _WORK,
    "sessions.clear_persona": _WORK,
    "sessions.set_capability_scope": _WORK,
    "sessions.clear_capability_scope": Operation(
        role=Role.OPERATOR, action="sessions.set_capability_scope"
    ),
    "sessions.set_credential_scope": _WORK,
    "sessions.clear_credential_scope": Operation(
        role=Role.OPERATOR, action="sessions.set_credential_scope"
    ),
    "sessions.permissions": _VIEW,
    "sessions.set_permissions": _WORK,
    "sessions.clear_permissions": Operation(role=Role.OPERATOR, action="sessions.set_permissions"),
    "sessions.tools": _VIEW,
    "sessions.set_route_policy": _WORK,
    "sessions.clear_route_policy": Operation(
        role=Role.OPERATOR, action="sessions.set_route_policy"
    ),
    "sessions.set_reply_targets": _WORK,
    "sessions.clear_reply_targets": Operation(
        role=Role.OPERATOR, action="sessions.set_reply_targets"
    ),
    "sessions.mcp_servers": _VIEW,
    "sessions.set_mcp_servers": _WORK,
    "sessions.clear_mcp_servers": Operation(role=Role.OPERATOR, action="sessions.set_mcp_servers"),
    "sessions.memory_context": _VIEW,
    "sessions.memory_search": _VIEW,
    "sessions.memory_explain": _VIEW,
    "sessions.end": _WORK,
    "sessions.input": Operation(role=Role.OPERATOR, action="runs.submit", own_receipts=True),
    "runs.submit": Operation(role=Role.OPERATOR, own_receipts=True),
    "runs.interrupt": _WORK,
    "runs.cancel": _WORK,
    "runs.list": _VIEW,
    "runs.get": _VIEW,
    "runs.events": _VIEW,
    "runs.stream": _VIEW,
    "runs.memory_report": _VIEW,
    "runs.debug": _RULE,
    "runs.artifacts": _VIEW,
    "runs.artifact": _VIEW,
    "runs.debug_artifact": _RULE,
    "run_memories.list": _VIEW,
    "run_memories.get": _VIEW,
    "run_memories.forget": _WORK,
    "learning_candidates.list": _VIEW,
    "learning_candidates.get": _VIEW,
    "learning_candidates.explain": _VIEW,
    "learning_candidates.next": _VIEW,
    "learning_candidates.create": _WORK,
    "learning_candidates.publish": _WORK,
    "learning_candidates.reject": _WORK,
    "learning_candidates.bulk": _WORK,
    "learnings.list": _VIEW,
    "learnings.get": _VIEW,
    "learnings.lineage": _VIEW,
    "learnings.supersede": _WORK,
    "learnings.revoke": _WORK,
    # With `all` only an admin may.
    "learnings.revoke_matching": Operation(role=Role.OPERATOR, action="learnings.revoke"),
    "rollouts.list": _VIEW,
    "rollouts.get": _VIEW,
    "rollouts.events": _VIEW,
    "rollouts.history": _VIEW,
    "rollouts.diff": _VIEW,
    "rollouts.trials": _VIEW,
    "rollouts.get_trial": _VIEW,
    "rollouts.promote": Operation(role=Role.OPERATOR, body_id="skill_name"),
    "rollouts.result": _WORK,
    "rollouts.trial": _WORK,
    "rollouts.hold": _WORK,
    "rollouts.release": _WORK,
    "rollouts.revoke": _WORK,
    "rollouts.rollback": _WORK,
    "skills.list": _VIEW,
    "skills.get": _VIEW,
    "skills.versions": _VIEW,
    "skills.diff": _VIEW,
    "skills.files": _VIEW,
    "skills.file": _VIEW,
    "skills.export": _VIEW,
    "skills.access": _VIEW,
    "skills.usage": _VIEW,
    "skills.grants": _VIEW,
    "skills.trash": _VIEW,
    "skills.create": Operation(role=Role.OPERATOR, body_id="slug"),
    "skills.upload": Operation(
        role=Role.OPERATOR,
        form=frozenset({"file", "slug", "acknowledged"}),
        max_body_bytes=MAX_ARCHIVE_BYTES,
    ),
    # Whose skill it is, the service knows.
    "skills.patch": _WORK,
    "skills.update": _WORK,
    "skills.toggle": _WORK,
    "skills.restore": _WORK,
    "skills.delete": _WORK,
    "skills.undelete": _WORK,
    "skills.grant_agent": Operation(role=Role.OPERATOR, action="skills.grant"),
    "skills.grant_user": Operation(role=Role.OPERATOR, action="skills.grant"),
    "skills.revoke_agent": Operation(role=Role.OPERATOR, action="skills.revoke"),
    "skills.revoke_user": Operation(role=Role.OPERATOR, action="skills.revoke"),
    "skills.revoke_named_agent": Operation(role=Role.OPERATOR, action="skills.revoke"),
    "skills.revoke_named_user": Operation(role=Role.OPERATOR, action="skills.revoke"),
    "skills.runtimes": _RULE,
    "skills.rescan": _RULE,
    "skills.install": _RULE,
    "skills.install_one": Operation(role=Role.ADMIN, action="skills.install", body_id="dep"),
    "sessions.skills": _VIEW,
    "agents.skills": _VIEW,
    "approvals.list": _VIEW,
    "approvals.get": _VIEW,
    "approvals.resolve": Operation(role=Role.OPERATOR, own_receipts=True),
    "approvals.resolve_in_session": Operation(
        role=Role.OPERATOR, action="approvals.resolve", own_receipts=True
    ),
    "approvals.resolve_inline": Operation(
        role=Role.OPERATOR, action="approvals.resolve", own_receipts=True
    ),
    "questions.list": _VIEW,
    "questions.get": _VIEW,
    "questions.of_session": _VIEW,
    "questions.resolve": Operation(role=Role.OPERATOR, own_receipts=True),
    "questions.resolve_inline": Operation(
        role=Role.OPERATOR, action="questions.resolve", own_receipts=True
    ),
    "questions.cancel": Operation(role=Role.OPERATOR, own_receipts=True),
    "personas.list": _VIEW,
    "personas.get": _VIEW,
    "personas.create": Operation(role=Role.OPERATOR, body_id="persona_id"),
    "personas.update": _WORK,
    "personas.delete": _WORK,
    "projects.list": _VIEW,
    "projects.get": _VIEW,
    "projects.members": _VIEW,
    "projects.create": Operation(role=Role.OPERATOR, body_id="project_id"),
    "projects.update": _WORK,
    "projects.delete": _WORK,
    "projects.add_member": _WORK,
    "projects.remove_member": _WORK,
    "sessions.sidechains": _VIEW,
    "tasks.list": _VIEW,
    "tasks.get": _VIEW,
    "tasks.create": _WORK,
    "tasks.update": _WORK,
    "tasks.stop": _WORK,
    "agents.list": _VIEW,
    "agents.get": _VIEW,
    "agents.files": _VIEW,
    "agents.file": _VIEW,
    "agents.file_versions": _VIEW,
    "agents.file_version": _VIEW,
    "agents.evolution": _VIEW,
    "agents.create": Operation(role=Role.ADMIN, body_id="agent_id"),
    # Of an agent: its owner, and admins.
    "agents.update": _WORK,
    "agents.delete": _RULE,
    "agents.write_file": _WORK,
    "agents.delete_file": Operation(role=Role.OPERATOR, action="agents.write_file"),
    "agents.restore_file": Operation(role=Role.OPERATOR, action="agents.write_file"),
    # Whose copy it is, the service knows.
    "agents.user_files": _VIEW,
    "agents.user_file": _VIEW,
    "agents.user_file_versions": _VIEW,
    "agents.user_file_version": _VIEW,
    "agents.write_user_file": Operation(role=Role.OPERATOR, action="agents.write_file"),
    "agents.delete_user_file": Operation(role=Role.OPERATOR, action="agents.write_file"),
    "agents.restore_user_file": Operation(role=Role.OPERATOR, action="agents.write_file"),
    # What was not approved may hold what one user told an agent.
    "agents.proposals": Operation(role=Role.OPERATOR),
    "agents.proposal": Operation(role=Role.OPERATOR),
    "agents.approve_proposal": _WORK,
    "agents.reject_proposal": _WORK,
    "assets.list": _VIEW,
    "assets.get": _VIEW,
    "assets.references": _VIEW,
    "assets.raw": _RULE,
    "assets.upload": _WORK,
    "assets.delete": _WORK,
    "assets.gc": _RULE,
    "schedules.list": _VIEW,
    "schedules.get": _VIEW,
    "schedules.executions": _VIEW,
    "schedules.create": Operation(role=Role.OPERATOR, body_id="name"),
    "schedules.pause": _WORK,
    "schedules.resume": _WORK,
    "schedules.trigger": _WORK,
    "schedules.cancel": _WORK,
    "mailboxes.list": _VIEW,
    "mailboxes.list_of_agent": _VIEW,
    "mailboxes.dead_letters": _VIEW,
    "mailboxes.dead_letters_of_agent": _VIEW,
    "mailboxes.post": Operation(role=Role.OPERATOR, body_id="session_id"),
    "mailboxes.ack": _WORK,
    "mailboxes.ack_of_agent": Operation(role=Role.OPERATOR, action="mailboxes.ack"),
    "mailboxes.retry": _WORK,
    "mailboxes.retry_of_agent": Operation(role=Role.OPERATOR, action="mailboxes.retry"),
    "routes.list": _VIEW,
    "routes.get": _VIEW,
    "runtime.get": _VIEW,
    "runtime.revisions": _VIEW,
    "runtime.change": _RULE,
    "runtime.rollback": _RULE,
    "run_memory_policy.get": _VIEW,
    "run_memory_policy.revisions": _VIEW,
    "run_memory_policy.set": Operation(role=Role.ADMIN, action="runtime.change"),
    "run_memory_policy.rollback": Operation(role=Role.ADMIN, action="runtime.rollback"),
    "learning_policy.get": _VIEW,
    "learning_policy.revisions": _VIEW,
    # Nothing changes, but it keeps a processor busy.
    "learning_policy.dry_run": _WORK,
    "learning_policy.set": Operation(role=Role.ADMIN, action="runtime.change"),
    "learning_policy.rollback": Operation(role=Role.ADMIN, action="runtime.rollback"),
    "tokens.list": _RULE,
    "tokens.create": Operation(role=Role.ADMIN, body_id="user_id", secret=("token",)),
    "tokens.delete": _RULE,
    "deliveries.list": _VIEW,
    "deliveries.retry": _WORK,
    "webhooks.rotate_secret": Operation(role=Role.ADMIN, secret=("secret",)),
    "tools.list": _VIEW,
    "tools.set": _RULE,
    "tools.check": _VIEW,
    "permissions.get": _VIEW,
    "permissions.set": Operation(role=Role.ADMIN, action="runtime.change"),
    "mcp_servers.list": _VIEW,
    "mcp_servers.restart": _RULE,
    "audit.list": _VIEW,
}


def operation_named(operation_id: str | None, methods: frozenset[str]) -> Operation:
    """What the table says; what it does not name, only an admin may change."""
    known = OPERATIONS.get(canonical(operation_id or ""))
    if known is not None:
        return known
    return _VIEW if methods <= SAFE_METHODS else _RULE


def canonical(operation_id: str) -> str:
    """The name of an operation, whichever method it came by."""
    return operation_id.removesuffix(POST_TWIN)


def action_of(operation_id: str) -> str:
    """The name by which the audit knows an operation."""
    name = canonical(operation_id)
    known = OPERATIONS.get(name)
    return (known.action if known else None) or name
