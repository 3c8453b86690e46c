"""Skills."""

from typing import Final

from understudy.console.page import Listing

PAGES: Final = Listing(
    name="skills",
    all="skills.list",
    one="skills.get",
    key="id",
    parameter="skill_id",
    columns=("name", "description", "visibility", "status", "version"),
    title="name",
).pages()
