"""Schedules."""

from typing import Final

from understudy.console.page import Listing

PAGES: Final = Listing(
    name="schedules",
    all="schedules.list",
    one="schedules.get",
    key="schedule_id",
    columns=("name", "target_session_id", "status", "next_fire_at_ms"),
    title="name",
).pages()
