"""What tells two definitions of a skill apart."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from understudy.skills.runtime_settings import RuntimeSettings

if TYPE_CHECKING:
    from understudy.rollout.model import Definition


@lru_cache(maxsize=1024)
def fingerprint_of(definition: "Definition") -> str:
    """SHA-256 over everything that a model is told or that decides how it runs, as hex."""
    whole = hashlib.sha256(definition.skill_name.encode())
    parts = {
        "description": definition.description,
        "when_to_use": definition.when_to_use,
        "version": definition.version,
        "instructions": definition.instructions.strip(),
        "runtime": _compact(runtime_json(definition.runtime)),
    }
    for name, value in parts.items():
        whole.update(f"\0{name}\0{value or ''}".encode())
    return whole.hexdigest()


def runtime_json(runtime: RuntimeSettings) -> dict[str, Any]:
    """How a skill is run, without what is left as it is."""
    parts: Mapping[str, Any] = {
        "allowed_tools": list(runtime.allowed_tools),
        "blocked_tools": list(runtime.blocked_tools),
        "context": str(runtime.context),
        "agent_profile": runtime.agent_profile,
        "provider": runtime.provider,
        "model": runtime.model,
        "fallback_model": runtime.fallback_model,
    }
    return {name: value for name, value in parts.items() if value}


def _compact(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
