"""The files that put Claude Code or Codex under review: what each holds with us, and without."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from understudy import __version__
from understudy.core.errors import coded_error
from understudy.foreign.connections import PRIVATE
from understudy.foreign.hook_events import HookEvent, HookTool

NAME: Final = "understudy"
# What curl waits for, and the client for curl. After that the work goes on without an answer.
ANSWER_S: Final = 2
HOOK_S: Final = 3
# Events that are about a tool call have a matcher.
_OF_TOOLS: Final = frozenset({HookEvent.TOOL_ASKED, HookEvent.TOOL_USED, HookEvent.TOOL_FAILED})
# Codex takes no hooks file with an event that it does not know.
_EVENTS: Final[Mapping[HookTool, tuple[HookEvent, ...]]] = {
    HookTool.CLAUDE_CODE: tuple(HookEvent),
    HookTool.CODEX: tuple(each for each in HookEvent if each is not HookEvent.TOOL_FAILED),
}
_BLOCK: Final = re.compile(r"\n?# understudy: begin\n.*?# understudy: end\n", re.DOTALL)
_LOOPBACK: Final = re.compile(r"https?://(?:127\.|localhost\b|\[::1\])")
SKILL: Final = """\
---
name: understudy
description: How memory works here. Read it before you write MEMORY.md, CLAUDE.md, AGENTS.md or a SKILL.md, and when you want to know what was learned before.
---

# Memory under review

A person reviews what you learn. Notes that begin with "Reviewed notes from Understudy" are background that was approved.

- A write to memory or instruction files is held until a person has decided. When it is denied, say that it waits and go on; do not
  write the file another way.
- Search what was approved with the tool `memory_search` of the server `understudy`, and propose what is worth keeping with
  `learning_propose`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPlace:
    """Where an agent is connected, and how its hooks reach the daemon."""

    tool: HookTool
    # The project, or None for every project of the person.
    project: Path | None
    # The person's home, and the folder in which the client keeps its settings.
    person: Path
    client: Path
    # The address of the daemon, and the file with the header that has the token.
    url: str
    header: Path

    @property
    def folders(self) -> tuple[str, ...]:
        """Where the daemon may read and write memory files."""
        if self.project is None:
            return tuple(dict.fromkeys((str(self.person), str(self.client))))
        return (str(self.project), str(self.client / "projects" / _munged(self.project)))

    def refuse_link(self, path: Path) -> None:
        """Refuse a file of the project that a link leads elsewhere: who made the link is unknown."""
        inside = self.project
        if inside and path.is_relative_to(inside) and not path.resolve().is_relative_to(inside):
            raise coded_error("foreign/client_file_elsewhere", name=str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """A file of a client: its text with our part, and without it."""

    path: Path
    # The whole text, of the text before; None where there is no file.
    add: Callable[[str | None], str]
    # The text without our part; None where nothing is left.
    strip: Callable[[str], str | None]
    mode: int | None = None
    # What is ours in a file that others write to, too; None where the whole file is.
    mark: str | None = None


def client_files(place: ClientPlace, token: str) -> tuple[ClientFile, ...]:
    """The files of a connection; the token stands in none that a project has."""
    return _FILES[place.tool](place, token)


def _claude_code(place: ClientPlace, token: str) -> tuple[ClientFile, ...]:
    """A plugin: Claude Code loads each folder of `skills` that has a manifest."""
    root = (place.project / ".claude" if place.project else place.client) / "skills" / NAME
    manifest = {
        "name": NAME,
        "version": __version__,
        "description": "Memory under review: reviewed learnings in, writes to memory held.",
        "author": {"name": "Understudy"},
    }
    as_json = r's/^\(Authorization\): \(.*\)$/{"\1": "\2"}/p'
    server = {
        "type": "http",
        "url": f"{place.url}/mcp",
        "headersHelper": f"sed -n {shlex.quote(as_json)} {shlex.quote(str(place.header))}",
    }
    texts = {
        ".claude-plugin/plugin.json": _json(manifest),
        "hooks/hooks.json": _json({"hooks": _hooks(place)}),
        ".mcp.json": _json({"mcpServers": {NAME: server}}),
        "skills/understudy/SKILL.md": SKILL,
        # The files name places on this machine, so nobody else has a use for them.
        ".gitignore": "*\n",
    }
    return tuple(_whole(root / name, text) for name, text in texts.items())


def _codex(place: ClientPlace, token: str) -> tuple[ClientFile, ...]:
    """Hooks in the project, or for all; the server with its token only among the person's files."""
    folder = place.project / ".codex" if place.project else place.client
    server = (
        f"\n# understudy: begin\n[mcp_servers.{NAME}]\nurl = {json.dumps(place.url + '/mcp')}\n"
        f"http_headers = {{ Authorization = {json.dumps('Bearer ' + token)} }}\n# understudy: end\n"
    )
    return (
        ClientFile(
            path=folder / "hooks.json",
            add=lambda text: _with_hooks(folder / "hooks.json", text, place),
            strip=_without_hooks,
            mark=f"/v1/hooks/{place.tool}",
        ),
        ClientFile(
            path=place.client / "config.toml",
            add=lambda text: _with_server(place.client / "config.toml", text, server),
            strip=lambda text: _BLOCK.sub("", text, count=1) or None,
            mode=PRIVATE,
            mark=f"[mcp_servers.{NAME}]",
        ),
    )


_FILES: Final[Mapping[HookTool, Callable[[ClientPlace, str], tuple[ClientFile, ...]]]] = {
    HookTool.CLAUDE_CODE: _claude_code,
    HookTool.CODEX: _codex,
}


def _whole(path: Path, text: str) -> ClientFile:
    return ClientFile(path=path, add=lambda _: text, strip=lambda _: None)


def _hooks(place: ClientPlace) -> dict[str, Any]:
    hook = {"type": "command", "command": hook_command(place), "timeout": HOOK_S}
    return {
        str(event): [{"matcher": "*", "hooks": [hook]} if event in _OF_TOOLS else {"hooks": [hook]}]
        for event in _EVENTS[place.tool]
    }


def hook_command(place: ClientPlace) -> str:
    """The command that reports an event; whatever goes wrong with it, the client goes on."""
    own_network = ("--noproxy", "'*'") if _LOOPBACK.match(place.url) else ()
    words = (
        *("curl", "-q", "-sf", "-m", str(ANSWER_S), *own_network),
        *("-H", shlex.quote(f"@{place.header}"), "-H", "'Content-Type: application/json'"),
        *("--data-binary", "@-", shlex.quote(f"{place.url}/v1/hooks/{place.tool}")),
    )
    return f"{' '.join(words)} || true"


def _with_hooks(path: Path, text: str | None, place: ClientPlace) -> str:
    document = _object(path, text) if text and text.strip() else {}
    hooks = document.setdefault("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(it, list) for it in hooks.values()):
        raise coded_error("foreign/client_file_unreadable", name=str(path))
    for event, groups in _hooks(place).items():
        hooks[event] = [*hooks.get(event, ()), *groups]
    return _json(document)


def _without_hooks(text: str) -> str | None:
    """A hooks file that somebody has changed since, without the groups that are ours."""
    try:
        document = json.loads(text)
        hooks = {
            event: [group for group in groups if "/v1/hooks/" not in json.dumps(group)]
            for event, groups in document["hooks"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    document["hooks"] = {event: groups for event, groups in hooks.items() if groups}
    return _json(document) if document != {"hooks": {}} else None


def _with_server(path: Path, text: str | None, server: str) -> str:
    before = text or ""
    if _BLOCK.search(before):
        # Of a connection of another project.
        return before
    try:
        found = tomllib.loads(before)
    except tomllib.TOMLDecodeError as problem:
        raise coded_error("foreign/client_file_unreadable", name=str(path)) from problem
    if NAME in found.get("mcp_servers", {}):
        raise coded_error("foreign/client_file_taken", name=str(path))
    return before + ("" if before.endswith("\n") or not before else "\n") + server


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise coded_error("foreign/client_file_unreadable", name=str(path))
    return found


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _munged(path: Path) -> str:
    """The name under which Claude Code keeps what belongs to a folder."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(path))
