"""The pages that put a coding agent under review are carried out line by line."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.connecting import Person, needs_curl
from tests.support.daemon import DaemonProcess

pytestmark = [pytest.mark.e2e, needs_curl]
PAGES = Path(__file__).parents[2] / "docs" / "howto"
# Does with its hooks what the client does with them, and prints what its model was told.
CLIENT = """\
#!{python}
import json, pathlib, subprocess, sys
groups = json.loads(pathlib.Path({hooks!r}).read_text())["hooks"]
def report(event, **fields):
    sent = {{"hook_event_name": event, "session_id": "talk", "cwd": str(pathlib.Path.cwd()), **fields}}
    command = groups[event][-1]["hooks"][0]["command"]
    done = subprocess.run(["/bin/sh", "-c", command], input=json.dumps(sent).encode(), capture_output=True)
    return json.loads(done.stdout)
print(report("SessionStart", source="startup"))
print(report("UserPromptSubmit", prompt=sys.argv[-1]))
write = {{"file_path": "MEMORY.md", "content": "- the user likes tabs\\n"}}
print(report("PreToolUse", tool_name="Write", tool_input=write))
report("Stop", last_assistant_message="It waits.")
"""
HOOKS = {
    "claude-code": (".claude/skills/understudy/hooks/hooks.json", "claude"),
    "codex": (".codex/hooks.json", "codex"),
}


@pytest.fixture
def ann(tmp_path: Path) -> Iterator[Person]:
    with DaemonProcess(tmp_path / "ann/.local/share/understudy") as daemon:
        yield Person(tmp_path / "ann", daemon)


def commands(page: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("tool", HOOKS)
def test_a_reader_who_types_the_page_sees_what_it_says(ann: Person, tool: str) -> None:
    hooks, name = HOOKS[tool]
    programs = ann.home / "bin"
    programs.mkdir()
    scripts = {
        name: CLIENT.format(python=sys.executable, hooks=str(ann.home / hooks)),
        "understudy": f'#!/bin/sh\nexec {sys.executable} -m understudy.cli.main "$@"\n',
    }
    for script, text in scripts.items():
        (programs / script).write_text(text)
        (programs / script).chmod(0o755)
    env = ann.understudy.environment
    env["PATH"] = f"{programs}:{env['PATH']}"

    said = {}
    for line in commands((PAGES / f"{tool}-under-review.md").read_text()):
        if line.startswith("export "):
            token = re.search(r"\$\(cat ~/(.*)\)", line)
            assert token is not None
            env["UNDERSTUDY_TOKEN"] = (ann.home / token[1]).read_text().strip()
            continue
        if "PROPOSAL" in line:
            (item,) = ann.understudy.json("inbox", "--kind", "soul_proposal")["items"]
            line = line.replace("PROPOSAL", item["id"])
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            env=env,
            cwd=ann.project,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stderr)
        said[line.split()[0] if line.startswith(name) else " ".join(line.split()[:4])] = done.stdout

    assert "We deploy on Tuesdays" in said[name]
    assert "holds this write for review" in said[name]
    assert "1 conversation so far" in said["understudy connect status"]
    assert "+- the user likes tabs" in said["understudy agents proposals show"]
    assert said["cat MEMORY.md"] == "- the user likes tabs\n"
    assert not (ann.home / hooks).exists()
    assert json.loads(ann.understudy("connect", "status", "--json").stdout) == {"connections": []}
