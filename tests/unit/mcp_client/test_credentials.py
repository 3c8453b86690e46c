"""Credentials in the wrong place."""

from typing import Any

import pytest

from understudy.mcp_client.model import SessionServer
from understudy.mcp_client.session_servers import credential_in

KEY = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4"


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"env": {"API_TOKEN": "x"}}, "env/API_TOKEN"),
        ({"env": {"HARMLESS": KEY}}, "env/HARMLESS"),
        ({"headers": {"Authorization": "Basic x"}}, "headers/Authorization"),
        ({"headers": {"X-Api-Key": "x"}}, "headers/X-Api-Key"),
        ({"headers": {"X-Thing": KEY}}, "headers/X-Thing"),
        ({"args": ("--token", "abc")}, "args/1"),
        ({"args": ("-v", "--api-key=abc")}, "args/1"),
        ({"args": (KEY,)}, "args/0"),
        ({"url": f"https://x.example/mcp?api_key={KEY}"}, "url"),
        ({"env": {"LEVEL": "debug"}, "args": ("--verbose", "x"), "command": "run"}, None),
        ({"headers": {"X-Team": "blue"}, "url": "https://x.example/mcp"}, None),
        ({"env": {"API_TOKEN": ""}}, None),
    ],
)
def test_a_credential_is_found_by_its_name_or_its_look(
    fields: dict[str, Any], found: str | None
) -> None:
    assert credential_in(SessionServer(name="a", **fields)) == found
