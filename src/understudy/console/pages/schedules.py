"""Schedules."""

from typing import Final

from understudy.console.page import Listing

PAGES: Final = Listing(
    name="schedules",
    all="schedules.list",
    one="schedules.get",
    key="schedule_id",
    columns=("schedule_id", "session_id", "status", "next_at_ms"),
    title="schedule_id",
).pages()
