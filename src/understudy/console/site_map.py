"""The pages of the console, and its navigation."""

from typing import Final

from understudy.console.pages import (
    agents,
    learnings,
    memory,
    overview,
    review,
    rollouts,
    runs,
    schedules,
    sessions,
    skills,
)

AREAS: Final = (
    overview,
    review,
    memory,
    sessions,
    runs,
    skills,
    rollouts,
    agents,
    learnings,
    schedules,
)
PAGES: Final = tuple(page for area in AREAS for page in area.PAGES)
NAVIGATION: Final = (
    ("work", ("overview", "review", "sessions", "runs", "schedules")),
    ("knowledge", ("learnings", "memory", "skills", "rollouts")),
    ("control", ("agents",)),
)
