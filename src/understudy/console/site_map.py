"""The pages of the console, and its navigation."""

from typing import Final

from understudy.console.pages import (
    agents,
    background,
    channels,
    daemon,
    lab,
    learnings,
    memory,
    overview,
    playbooks,
    policy,
    projects,
    review,
    rollouts,
    runs,
    schedules,
    search,
    sessions,
    skills,
    unlearn,
)

AREAS: Final = (
    overview,
    review,
    memory,
    sessions,
    runs,
    background,
    projects,
    playbooks,
    skills,
    rollouts,
    agents,
    policy,
    lab,
    learnings,
    schedules,
    channels,
    search,
    unlearn,
    daemon,
)
PAGES: Final = tuple(page for area in AREAS for page in area.PAGES)
NAVIGATION: Final = (
    (
        "work",
        (
            "overview",
            "review",
            "sessions",
            "runs",
            "background",
            "channels",
            "schedules",
            "projects",
        ),
    ),
    ("knowledge", ("learnings", "memory", "skills", "rollouts", "playbooks", "flows")),
    ("control", ("agents", "policy", "lab", "unlearn", "status", "audit", "access")),
)
# Keyboard shortcuts: the key after `g` that opens each page.
GO_KEYS: Final = {
    "overview": "o",
    "review": "r",
    "sessions": "s",
    "runs": "u",
    "background": "w",
    "schedules": "c",
    "channels": "n",
    "projects": "j",
    "learnings": "l",
    "memory": "m",
    "skills": "k",
    "rollouts": "b",
    "playbooks": "y",
    "flows": "f",
    "agents": "a",
    "policy": "p",
    "lab": "t",
    "unlearn": "e",
    "audit": "d",
    "access": "x",
    "status": "h",
}
