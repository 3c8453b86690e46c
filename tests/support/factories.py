"""Records with sane defaults; a test sets only what it is about."""

from typing import Any

from understudy.access.tokens import TokenRecord
from understudy.agents.model import DEFAULT_AGENT_ID, Agent, AgentType, ContextFile
from understudy.background_tasks.model import BackgroundTask
from understudy.core.audit import AuditEntry
from understudy.core.ids import new_id
from understudy.core.principal import Principal, Role
from understudy.mailboxes.model import MailSender, Message
from understudy.runs.model import (
    InputItem,
    Route,
    Run,
    RunInput,
    RunKind,
    RunRequest,
    RunStatus,
)
from understudy.sessions.journal import EventKind, JournalEvent, NewEvent
from understudy.sessions.model import MemberKind, Persona, Project, ProjectMember, Session
from understudy.sessions.persona import snapshot_of
from understudy.sessions.tasks import Task

NOW = 1_700_000_000_000
ALICE = Principal(user_id="alice", role=Role.OPERATOR)
ADMIN = Principal(user_id="root", role=Role.ADMIN)

# What a person, a model or a broken client may send, and a database may not like.
ODD_TEXTS = {
    "NUL": "before\x00after",
    "lone surrogates": "half \ud83d and \ude00 apart",
    "emoji": "👩🏽‍🚀 🏳️‍🌈",
    "right to left": "\u202eשלום \u202c مرحبا",
    "control": "\x01\x1b[31m\x7f\u2028",
    "quotes": "Robert'); DROP TABLE runs;-- \\ \"",
    "not normalised": "e\u0301 ﬁ \u212b",
}


def make_agent(agent_id: str = DEFAULT_AGENT_ID, **fields: Any) -> Agent:
    """A predefined agent with every switch off."""
    values: dict[str, Any] = {
        "display_name": agent_id,
        "agent_type": AgentType.PREDEFINED,
        "created_at_ms": NOW,
        "updated_at_ms": NOW,
    }
    return Agent(agent_id=agent_id, **(values | fields))


def make_file(name: str = "SOUL.md", content: str = "be kind", **fields: Any) -> ContextFile:
    """The first version of a context file of the built-in agent."""
    values: dict[str, Any] = {
        "agent_id": DEFAULT_AGENT_ID,
        "version": 1,
        "actor": "alice",
        "created_at_ms": NOW,
    }
    return ContextFile(name=name, content=content, **(values | fields))


def make_session(session_id: str | None = None, **fields: Any) -> Session:
    """An active session of the built-in agent."""
    values: dict[str, Any] = {
        "agent_id": DEFAULT_AGENT_ID,
        "owner_id": "alice",
        "created_at_ms": NOW,
        "updated_at_ms": NOW,
    }
    return Session(session_id=session_id or new_id("ses"), **(values | fields))


def make_persona(persona_id: str = "helper", **fields: Any) -> Persona:
    """A persona with a soul and nothing else."""
    values: dict[str, Any] = {
        "display_name": persona_id,
        "soul": "You are helpful.",
        "capability_scope": {},
        "default_skills": (),
        "metadata": {},
        "created_at_ms": NOW,
        "updated_at_ms": NOW,
    }
    return Persona(persona_id=persona_id, **(values | fields))


def bound(persona: Persona) -> dict[str, Any]:
    """The fields of a session that has bound this persona."""
    return {"persona": snapshot_of(persona, bound_at_ms=NOW)}


def make_project(project_id: str = "garden", **fields: Any) -> Project:
    """An active project without members."""
    values: dict[str, Any] = {
        "display_name": project_id,
        "created_at_ms": NOW,
        "updated_at_ms": NOW,
    }
    return Project(project_id=project_id, **(values | fields))


def make_member(member_id: str = "s1", **fields: Any) -> ProjectMember:
    """A session as a member of a project."""
    values: dict[str, Any] = {
        "member_kind": MemberKind.SESSION,
        "display_name": member_id,
        "session_id": member_id,
    }
    return ProjectMember(member_id=member_id, **(values | fields))


def make_run(session_id: str = "s1", **fields: Any) -> Run:
    """A queued run that says hello."""
    values: dict[str, Any] = {
        "run_id": new_id("run"),
        "agent_id": DEFAULT_AGENT_ID,
        "user_id": "alice",
        "kind": RunKind.INPUT,
        "status": RunStatus.QUEUED,
        "submitted_at_ms": NOW,
        "updated_at_ms": NOW,
        "request": RunRequest(text_preview="hello"),
        "input": RunInput(items=(InputItem(type="text", text="hello"),)),
        "route": Route(route_id="a", model="model-a"),
    }
    return Run(session_id=session_id, **(values | fields))


def make_task(number: int = 1, **fields: Any) -> Task:
    """A pending task of the session s1."""
    values: dict[str, Any] = {
        "task_id": f"tsk_{number}",
        "session_id": "s1",
        "title": f"task {number}",
        "created_by": "alice",
        "created_at_ms": NOW,
        "updated_at_ms": NOW,
    }
    return Task(number=number, **(values | fields))


def make_background_task(run: Run, **fields: Any) -> BackgroundTask:
    """A command that runs in the background of a run, as far as the records tell."""
    values: dict[str, Any] = {
        "task_id": new_id("bgt"),
        "session_id": run.session_id,
        "run_id": run.run_id,
        "agent_id": run.agent_id,
        "user_id": run.user_id,
        "command": "make",
        "timeout_s": 60,
        "created_at_ms": NOW,
        "updated_at_ms": NOW,
        "holder": "here",
    }
    return BackgroundTask(**(values | fields))


def make_token(token_id: str = "tok_1", **fields: Any) -> TokenRecord:
    """An operator's token."""
    values: dict[str, Any] = {
        "token_hash": f"hash of {token_id}",
        "user_id": "alice",
        "role": Role.OPERATOR,
        "created_at_ms": NOW,
    }
    return TokenRecord(token_id=token_id, **(values | fields))


def make_letter(content: str = "hello", **fields: Any) -> Message:
    """A message from alice to s1."""
    values: dict[str, Any] = {
        "message_id": "msg_1",
        "session_id": "s1",
        "sender": MailSender(user_id="alice"),
        "created_at_ms": NOW,
        "updated_at_ms": NOW,
    }
    return Message(content=content, **(values | fields))


def make_entry(**fields: Any) -> AuditEntry:
    """The audit entry of a session that was created."""
    values: dict[str, Any] = {
        "at_ms": NOW,
        "actor": "alice",
        "action": "sessions.create",
        "resource": "sessions",
        "resource_id": "s1",
    }
    return AuditEntry(**(values | fields))


def make_new_event(kind: EventKind = EventKind.OUTPUT, **fields: Any) -> NewEvent:
    """An event to be written."""
    values: dict[str, Any] = {"data": {"text": "hi"}}
    return NewEvent(kind=kind, **(values | fields))


def make_event(kind: EventKind, offset: int, **fields: Any) -> JournalEvent:
    """An event as it stands in the journal."""
    values: dict[str, Any] = {
        "sequence": offset,
        "session_id": "s1",
        "run_id": "r1",
        "at_ms": NOW,
    }
    return JournalEvent(kind=kind, offset=offset, **(values | fields))
