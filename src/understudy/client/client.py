"""The client: one daemon, one principal."""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

import httpx2

from understudy.client.calls import Json
from understudy.client.errors import InvalidCall
from understudy.client.groups.access import Audit, Tokens
from understudy.client.groups.agents import Agents
from understudy.client.groups.assets import Assets
from understudy.client.groups.candidates import Candidates
from understudy.client.groups.checkpoints import Checkpoints
from understudy.client.groups.learning_policy import LearningPolicy
from understudy.client.groups.learnings import Learnings
from understudy.client.groups.mailboxes import Mailboxes
from understudy.client.groups.mcp import McpServers
from understudy.client.groups.memory import Memory, RunMemories, RunMemoryPolicy
from understudy.client.groups.permissions import Permissions
from understudy.client.groups.personas import Personas
from understudy.client.groups.projects import Projects
from understudy.client.groups.rollouts import Rollouts
from understudy.client.groups.runs import Runs
from understudy.client.groups.runtime import Daemon, Routes, Runtime, Tools
from understudy.client.groups.schedules import Schedules
from understudy.client.groups.sessions import Sessions
from understudy.client.groups.skill_dependencies import SkillDependencies
from understudy.client.groups.skill_grants import SkillGrants
from understudy.client.groups.skills import Skills, SkillTrash
from understudy.client.groups.tasks import Tasks
from understudy.client.groups.waiting import Approvals, Questions
from understudy.client.groups.webhooks import Deliveries, Webhooks
from understudy.client.streams import StreamEvent, follow
from understudy.client.transport import CONNECT_TIMEOUT_S, Retries, Transport
from understudy.wire.runtime import StatusView

# An inline submit answers when its run has ended, which may take minutes.
ANSWER_TIMEOUT_S: Final = 600.0
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class Client:
    """Talks to a running daemon; use it in a `with` block or close it."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        retries: Retries | None = None,
        transport: httpx2.BaseTransport | None = None,
        on_answer: Callable[[Json], None] | None = None,
    ) -> None:
        self.url = checked_url(url)
        self._http = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=httpx2.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            transport=transport,
            # A proxy is for other machines.
            trust_env=httpx2.URL(self.url).host not in LOOPBACK,
        )
        self._transport = Transport(self._http, retries=retries or Retries(), on_answer=on_answer)
        self.sessions = Sessions(self._transport)
        self.runs = Runs(self._transport)
        self.approvals = Approvals(self._transport)
        self.questions = Questions(self._transport)
        self.checkpoints = Checkpoints(self._transport)
        self.deliveries = Deliveries(self._transport)
        self.webhooks = Webhooks(self._transport)
        self.personas = Personas(self._transport)
        self.projects = Projects(self._transport)
        self.tasks = Tasks(self._transport)
        self.agents = Agents(self._transport)
        self.assets = Assets(self._transport)
        self.schedules = Schedules(self._transport)
        self.mailboxes = Mailboxes(self._transport)
        self.routes = Routes(self._transport)
        self.runtime = Runtime(self._transport)
        self.memory = Memory(self._transport)
        self.run_memories = RunMemories(self._transport)
        self.run_memory_policy = RunMemoryPolicy(self._transport)
        self.candidates = Candidates(self._transport)
        self.learnings = Learnings(self._transport)
        self.learning_policy = LearningPolicy(self._transport)
        self.rollouts = Rollouts(self._transport)
        self.skills = Skills(self._transport)
        self.skill_grants = SkillGrants(self._transport)
        self.skill_trash = SkillTrash(self._transport)
        self.skill_dependencies = SkillDependencies(self._transport)
        self.permissions = Permissions(self._transport)
        self.tools = Tools(self._transport)
        self.mcp_servers = McpServers(self._transport)
        self.tokens = Tokens(self._transport)
        self.audit = Audit(self._transport)
        self.daemon = Daemon(self._transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the connections go."""
        self._http.close()

    def status(self) -> StatusView:
        """What the daemon is and does."""
        return self.daemon.status()

    def stream(self, *, last_event_id: str | None = None) -> Iterator[StreamEvent]:
        """What happens in all sessions from now on, or from after an event; never ends."""
        return follow(
            lambda last: self._transport.open_stream("/v1/events/stream", last_event_id=last),
            last_event_id=last_event_id,
            sleep=self._transport.retries.sleep,
        )


def checked_url(url: str) -> str:
    """The address of a daemon without a slash at its end."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidCall(f"the daemon's URL must look like http://127.0.0.1:4600; got {url!r}")
    return url.rstrip("/")
