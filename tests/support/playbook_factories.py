"""Manifests of playbooks, as a caller would send them."""

from typing import Any


def manifest(**fields: Any) -> dict[str, Any]:
    """A small playbook with two phases and a review."""
    values: dict[str, Any] = {
        "playbook_id": "release",
        "version": "1",
        "title": "Release",
        "objective": "Ship what was built.",
        "phases": [
            {"phase_id": "build", "objective": "Build it.", "acceptance_criteria": ["it builds"]},
            {
                "phase_id": "review",
                "objective": "Have it looked at.",
                "required_evidence": [{"kind": "manual", "id": "review"}],
            },
        ],
        "acceptance_criteria": ["users have it"],
    }
    return {**values, **fields}


ENFORCED = {"enforce": True, "deny": ["shell"]}
