"""Files that connect a coding agent: where they may lie."""

from pathlib import Path

import pytest

from understudy.core.errors import Conflict
from understudy.foreign.client_files import ClientPlace, client_files
from understudy.foreign.hook_events import HookTool


def place(tool: HookTool, home: Path) -> ClientPlace:
    return ClientPlace(
        tool=tool,
        project=home / "project",
        person=home,
        client=home / ".client",
        url="http://127.0.0.1:4600",
        header=home / "header",
    )


@pytest.mark.parametrize("tool", HookTool)
def test_a_link_that_leads_out_of_the_project_is_refused(tool: HookTool, tmp_path: Path) -> None:
    where = place(tool, tmp_path.resolve())
    files = [each.path for each in client_files(where, "token")]
    inside = next(path for path in files if path.is_relative_to(tmp_path / "project"))
    for path in files:
        where.refuse_link(path)

    inside.parent.mkdir(parents=True)
    inside.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Conflict) as refused:
        where.refuse_link(inside)
    assert refused.value.code == "client_file_elsewhere"
