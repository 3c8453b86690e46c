"""What `/v1/status` tells: how the daemon is, and what deserves a look."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy import __version__
from understudy.core.clock import Clock
from understudy.daemon.health import warning
from understudy.daemon.learning_status import learning_warnings
from understudy.daemon.memory_status import memory_sections, memory_warnings
from understudy.daemon.rollout_status import RolloutStatus, rollout_warnings
from understudy.daemon.skill_status import SkillReport, skill_warnings
from understudy.mcp_client.model import ServerState, ServerStatus
from understudy.providers.registry import Routes
from understudy.runs.intake import RuntimeDefaults
from understudy.runs.model import RunStatus
from understudy.settings import Settings
from understudy.storage.unit import Unit, Units

LOW_DISK_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """Takes a snapshot of the daemon when it is called."""

    units: Units
    clock: Clock
    routes: Routes
    settings: Settings
    defaults: Callable[[Unit], RuntimeDefaults]
    state: Callable[[], str]
    mcp_servers: Callable[[], Sequence[ServerStatus]]
    run_memory: Callable[[int], Mapping[str, Any]]
    session_memory: Callable[[], Mapping[str, int]]
    learning: Callable[[int], Mapping[str, Any]]
    skills: SkillReport
    rollouts: RolloutStatus

    def __call__(self, *, in_full: bool = False) -> dict[str, Any]:
        """The snapshot as a JSON object; `in_full` with what only an admin is told."""
        began = self.clock.now_ms()
        with self.units.read() as unit:
            sessions = unit.sessions.count()
            runs = unit.runs.counts()
            last_sequence = unit.journal.last_sequence()
            defaults = self.defaults(unit)
        run_memory, learning = self.run_memory(began), self.learning(began)
        skills, rollouts = self.skills(in_full=in_full), self.rollouts(in_full=in_full)
        warnings = [
            *self._route_warnings(),
            *self._mcp_warnings(),
            *memory_warnings(run_memory),
            *learning_warnings(learning),
            *skill_warnings(skills),
            *rollout_warnings(rollouts),
            *self._disk_warnings(),
        ]
        return {
            "snapshot_at_ms": began,
            "version": __version__,
            "process_id": os.getpid(),
            "status": self.state(),
            "ready": self.state() == "ready",
            "runtime": {
                "route_id": defaults.route_id,
                "debug_level": str(defaults.debug_level),
            },
            "events": {"last_sequence": last_sequence},
            "storage": {"kind": "sqlite" if self.settings.is_sqlite else "postgresql"},
            "provider_readiness": [
                {"route_id": route.route_id, "ready": route.ready, "reason": route.reason}
                for route in self.routes.all()
            ],
            "sessions": {"total": sessions},
            "runs": {str(status): runs.get(status, 0) for status in RunStatus},
            **memory_sections(run_memory, self.session_memory()),
            "learning": dict(learning),
            "skills": dict(skills),
            "rollouts": dict(rollouts),
            "health": {
                "ok": all(each["severity"] != "error" for each in warnings),
                "warnings": warnings,
                "snapshot_duration_ms": self.clock.now_ms() - began,
            },
        }

    def _route_warnings(self) -> list[dict[str, Any]]:
        warnings = [
            warning(
                "warning",
                "route_not_ready",
                f"route {route.route_id} is not ready: {route.reason}",
                related_id=route.route_id,
                action="set the key its config names, then restart",
            )
            for route in self.routes.all()
            if not route.ready
        ]
        if self.settings.is_offline:
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
            for server in self.mcp_servers()
            if server.state is ServerState.FAILED
        ]

    def _disk_warnings(self) -> list[dict[str, Any]]:
        free = shutil.disk_usage(self.settings.home).free
        if free >= LOW_DISK_BYTES:
            return []
        text = f"only {free // (1024 * 1024)} MiB are free where the home is"
        return [warning("error", "disk_low", text, action="free some space")]
