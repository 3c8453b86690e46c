"""Skills behind a WebSocket, with people who have tokens, on a database of either kind."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import sqlalchemy as sa
import uvicorn
from fastapi import FastAPI

from tests.support.rpc import Rpc, Served, rpc, served
from tests.support.skill_factories import skill_units
from understudy.access.tokens import TOKEN_ADMIN, TokenService
from understudy.agents.service import AgentService
from understudy.core.audit import AuditEntry
from understudy.core.bell import Bell
from understudy.core.clock import SystemClock
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.core.shared_reads import SharedReads
from understudy.evolution.file_checks import FileChecks
from understudy.skills.access import Author
from understudy.skills.bundles.store import BundleChecks
from understudy.skills.content_guard import ContentGuard
from understudy.skills.dependencies.availability import LocalMachine
from understudy.skills.events import SkillEvents
from understudy.skills.library import SkillLibrary
from understudy.skills.local.skills import LocalSkills
from understudy.skills.model import Skill
from understudy.skills.service import SkillService
from understudy.storage.unit import Units
from understudy.ws.endpoint import mount
from understudy.ws.limits import Limits

ADMIN_TOKEN = "root" + "-secret"
PEOPLE = {"ann": Role.OPERATOR, "bob": Role.OPERATOR, "vic": Role.VIEWER}


@dataclass(slots=True)
class Switch:
    """Whether the daemon is ready."""

    state: str | None = None


@dataclass(slots=True)
class WsSkillServer:
    """The parts behind an address, and what opens it."""

    served: Served
    units: Units
    # As a daemon has them, as far as the WebSocket asks for them.
    services: Any
    switch: Switch
    tokens: dict[str, str] = field(default_factory=dict)
    token_ids: dict[str, str] = field(default_factory=dict)

    def rpc(self, who: str | None, **options: Any) -> AbstractContextManager[Rpc]:
        """A connection of one of the people, or of nobody."""
        return rpc(
            self.served.url, self.tokens[who] if who else None, log_in=who is not None, **options
        )

    def skill(
        self,
        slug: str,
        owner: str = "ann",
        body: str = "Collect and write.",
        name: str | None = None,
    ) -> Skill:
        """A skill of one of the people."""
        content = (
            f"---\nname: {name or slug}\ndescription: About {slug}\nauthor: Ann\n---\n{body}\n"
        )
        author = Author(principal=Principal(user_id=owner, role=PEOPLE[owner]))
        return self.services.skills.service.create(author, content, slug=slug).skill

    def stored(self, slug: str) -> Skill:
        """A skill as it stands."""
        with self.units.read() as unit:
            skill = unit.skills.by_slug(slug)
        assert skill is not None
        return skill

    def audit(self, resource: str = "skills") -> list[AuditEntry]:
        """What the audit has of something, oldest first."""
        with self.units.read() as unit:
            page = unit.audit.page(PageRequest(limit=200), resource=resource, actor=None)
        return list(reversed(page.items))


@contextmanager
def ws_skill_server(
    engine: sa.Engine,
    home: Path,
    *,
    is_open: bool = False,
    limits: Limits | None = None,
    set_up: Callable[[uvicorn.Config], None] = lambda _: None,
) -> Iterator[WsSkillServer]:
    """Serve it; when it is open, nobody has a token and everybody on the machine is let in."""
    bell, clock, switch = Bell(), SystemClock(), Switch()
    units = skill_units(engine, home, bell)
    tokens = TokenService(units, clock, None if is_open else ADMIN_TOKEN, is_loopback=True)
    events = SkillEvents()
    services = SimpleNamespace(
        tokens=tokens,
        agents=SimpleNamespace(
            service=AgentService(units, clock, check_content=FileChecks().by_person)
        ),
        skills=SimpleNamespace(
            service=SkillService(
                units,
                clock,
                guard=ContentGuard(allow_acknowledged=False),
                machine_for=lambda _: LocalMachine(),
                listener=events,
            ),
            library=SkillLibrary(
                units, LocalSkills(roots=(), guard=lambda _: (), clock=clock), BundleChecks()
            ),
            events=events,
        ),
        resources=SimpleNamespace(
            units=units,
            clock=clock,
            bell=bell,
            reads=SharedReads(),
            settings=SimpleNamespace(is_loopback=True, isolation="shared"),
            readiness=lambda: switch.state,
            shutting_down=asyncio.Event(),
        ),
    )
    app = FastAPI()
    mount(app, cast("Any", services), limits or Limits())
    with served(app, set_up=set_up) as running:
        bell.attach(running.loop)
        found = WsSkillServer(running, units, services, switch, {"root": ADMIN_TOKEN})
        for user_id, role in [] if is_open else PEOPLE.items():
            token, found.tokens[user_id] = tokens.create(TOKEN_ADMIN, user_id, role)
            found.token_ids[user_id] = token.token_id
        yield found
