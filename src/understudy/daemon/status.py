"""The report of `/v1/status`: the state of the daemon, and its warnings."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from understudy import __version__
from understudy.core.visibility import current_visibility
from understudy.daemon.health import warning
from understudy.daemon.learning_status import learning_warnings
from understudy.daemon.memory_status import memory_sections, memory_warnings
from understudy.daemon.rollout_status import rollout_warnings
from understudy.daemon.skill_status import skill_warnings
from understudy.engine.heartbeat import lock_number
from understudy.foreign.hook_events import HookTool
from understudy.mcp_client.model import ServerState
from understudy.runs.model import RunStatus
from understudy.storage.feed import OldestWriter
from understudy.storage.postgres import server_load
from understudy.storage.unit import reachable

if TYPE_CHECKING:
    from understudy.daemon.services import Services

# The key of process counters in each part of the report.
METRICS: Final = "metrics"
# Heartbeat, the look for dead daemons, and the listener for notifications.
OWN_CONNECTIONS: Final = 3
LEAST_POOL: Final = 5
LOW_DISK_BYTES: Final = 256 * 1024 * 1024
# A transaction that writes for so long is no part of the usual work.
OLD_TRANSACTION_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class StatusReport:
    """Takes a snapshot of the daemon when it is called."""

    services: "Services"

    def __call__(self, *, in_full: bool = False) -> dict[str, Any]:
        """The report as a JSON object; `in_full` with the parts for admins."""
        services, resources = self.services, self.services.resources
        began = resources.clock.now_ms()
        with resources.units.read() as unit:
            sessions = unit.sessions.count()
            runs = unit.runs.counts()
            last_sequence = unit.journal.last_sequence()
            holder = unit.feed.holder()
            defaults = services.defaults(unit)
            clients = unit.client_events.seen([str(tool) for tool in HookTool])
        run_memory = services.run_memories.status(began)
        learning = services.learning.status(began)
        skills = services.skills.status(in_full=in_full)
        rollouts = services.rollout.status(in_full=in_full)
        connections = self._connections()
        warnings = [
            *self._route_warnings(),
            *connection_warnings(connections),
            *self._mcp_warnings(),
            *memory_warnings(run_memory),
            *learning_warnings(learning),
            *skill_warnings(skills),
            *rollout_warnings(rollouts),
            *self._disk_warnings(),
            *feed_warnings(holder),
        ]
        report = {
            "snapshot_at_ms": began,
            "version": __version__,
            "process_id": os.getpid(),
            "status": resources.state,
            "ready": resources.state == "ready",
            "runtime": {
                "route_id": defaults.route_id,
                "debug_level": str(defaults.debug_level),
            },
            "events": {"last_sequence": last_sequence},
            "clients": clients,
            "storage": {
                "kind": "sqlite" if resources.settings.is_sqlite else "postgresql",
                **({"connections": connections} if connections else {}),
            },
            "provider_readiness": [
                {"route_id": route.route_id, "ready": route.ready, "reason": route.reason}
                for route in resources.routes.all()
            ],
            "sessions": {"total": sessions},
            "runs": {str(status): runs.get(status, 0) for status in RunStatus},
            **memory_sections(run_memory, services.learning.prompts.snapshot()),
            "learning": dict(learning),
            "skills": dict(skills),
            "rollouts": dict(rollouts),
            "health": {
                "ok": all(each["severity"] != "error" for each in warnings),
                "warnings": warnings,
                "snapshot_duration_ms": resources.clock.now_ms() - began,
            },
        }
        return report if current_visibility.get().user_id is None else _without_sums(report)

    def _route_warnings(self) -> list[dict[str, Any]]:
        warnings = [
            warning(
                "warning",
                "route_not_ready",
                f"route {route.route_id} is not ready: {route.reason}",
                related_id=route.route_id,
                action="set the key its config names, then restart",
            )
            for route in self.services.resources.routes.all()
            if not route.ready
        ]
        if self.services.resources.settings.is_offline:
            warnings.append(
                warning(
                    "info",
                    "offline_model",
                    "answers come from the built-in offline script",
                    action="set OPENAI_API_KEY or ANTHROPIC_API_KEY, then restart",
                )
            )
        return warnings

    def _mcp_warnings(self) -> list[dict[str, Any]]:
        return [
            warning(
                "warning",
                "mcp_server_failed",
                f"MCP server {server.name} is down: {server.reason}",
                related_id=server.name,
                action=f"mend it, then `understudy mcp restart {server.name}`",
            )
            for server in self.services.mcp.statuses()
            if server.state is ServerState.FAILED
        ] + [
            warning(
                "info",
                "mcp_tools_not_accepted",
                f"nobody has accepted what {server.unaccepted} tools of MCP server {server.name} "
                "say of themselves, so runs that are told of them count as having read text of others",
                related_id=server.name,
                action=f"read `understudy mcp tools {server.name}`, then `understudy mcp accept {server.name}`",
            )
            for server in map(
                self.services.mcp_acceptance.with_unaccepted, self.services.mcp.statuses()
            )
            if server.unaccepted
        ]

    def _connections(self) -> dict[str, int] | None:
        """How many connections the daemons on this PostgreSQL may open; None with SQLite.

        The others are taken to have the settings of this one. Behind a pooler, only the direct ones.
        """
        resources = self.services.resources
        if resources.settings.is_sqlite:
            return None
        with reachable():
            load = server_load(resources.database)
        pool = resources.settings.database
        of_pool = 0 if pool.direct_url else pool.pool_size + pool.max_overflow
        return {
            "daemons": sum(lock_number(each) in load.locks for each in load.executor_ids),
            "of_each": of_pool + OWN_CONNECTIONS,
            "room": load.room,
            "max_connections": load.max_connections,
        }

    def _disk_warnings(self) -> list[dict[str, Any]]:
        free = shutil.disk_usage(self.services.resources.settings.home).free
        if free >= LOW_DISK_BYTES:
            return []
        text = f"only {free // (1024 * 1024)} MiB are free where the home is"
        return [warning("error", "disk_low", text, action="free some space")]


def feed_warnings(holder: OldestWriter | None) -> list[dict[str, Any]]:
    """Whether an old transaction stops the streams over all sessions; runs do not wait for it."""
    if holder is None or holder.age_s < OLD_TRANSACTION_S:
        return []
    text = (
        "events of all sessions are not streamed: an unfinished transaction on the database server"
        f" has been writing for {int(holder.age_s)} s"
    )
    action = (
        "commit or roll back what `SELECT * FROM pg_prepared_xacts` lists"
        if holder.pid is None
        else f"end it, or its process: `SELECT pg_terminate_backend({holder.pid})`"
    )
    return [warning("warning", "feed_held", text, action=action)]


def connection_warnings(found: Mapping[str, int] | None) -> list[dict[str, Any]]:
    """A warning if the daemons may open more connections than the server has for them."""
    if found is None or (all_of_them := found["daemons"] * found["of_each"]) <= found["room"]:
        return []
    needed = all_of_them + found["max_connections"] - found["room"]
    action = f"set max_connections of PostgreSQL to {needed} or more"
    fitting = found["room"] // found["daemons"] - OWN_CONNECTIONS
    if found["of_each"] > OWN_CONNECTIONS and fitting >= LEAST_POOL:
        action += f", or database.pool_size and database.max_overflow of each daemon to {fitting} together"
    text = f"{found['daemons']} daemons may open {all_of_them} connections, and PostgreSQL has room for {found['room']}"
    return [warning("warning", "connections_scarce", text, action=action)]


def _without_sums(value: Any, *, is_sum: bool = False) -> Any:
    """The report without process counters, which cover all users."""
    if isinstance(value, Mapping):
        return {
            name: _without_sums(item, is_sum=is_sum or name == METRICS)
            for name, item in value.items()
        }
    return 0 if is_sum and isinstance(value, int | float) else value
