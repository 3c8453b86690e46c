"""The page about the WebSocket names what there is."""

import re
from pathlib import Path
from typing import get_args

import pytest

from understudy.wire.websocket import ConnectParams, ErrorCode, NamedSkill
from understudy.ws import connection
from understudy.ws.connection import AUDIENCES, Close, is_admin
from understudy.ws.limits import LIMITS, MAX_FRAME_BYTES, PING_S, PONG_S
from understudy.ws.methods import METHODS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "websocket.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|")
]
CLOSES = [value for value in vars(connection).values() if isinstance(value, Close)]


def listed(start: str) -> list[list[str]]:
    """The rows whose first cell is code that begins with this."""
    return [row for row in ROWS if row[0].startswith(f"`{start}")]


def test_every_method_is_described_with_its_role() -> None:
    methods = [*listed("skills."), *listed("agents.")]
    assert {row[0]: row[1] for row in methods} == {
        f"`{name}`": method.role.value for name, method in METHODS.items()
    }


@pytest.mark.parametrize("name", METHODS)
def test_every_param_is_described(name: str) -> None:
    (row,) = listed(f"{name}`")
    assert set(re.findall(r"`(\w+)\??`", row[2])) == set(METHODS[name].params.model_fields)


def test_every_event_is_described_with_who_hears_it() -> None:
    said = {row[0].strip("`"): row[2] == "admins" for row in listed("skill.")}
    assert said == {name.value: audience is is_admin for name, audience in AUDIENCES.items()}


def test_every_code_is_described() -> None:
    assert {row[0].strip("`") for row in ROWS if row[0].strip("`").isupper()} == set(
        get_args(ErrorCode)
    )


def test_every_reason_to_close_is_described() -> None:
    described = {int(row[0]) for row in ROWS if row[0].isdigit()}
    assert {close.code for close in CLOSES} <= described


def test_every_field_of_a_skill_and_of_connect_is_described() -> None:
    (skill,) = re.findall(r"A skill is\n`{(.*)}`", PAGE)
    assert [name.strip(" ?") for name in skill.split(",")] == list(NamedSkill.model_fields)
    assert all(f"`{name}`" in PAGE for name in ConnectParams.model_fields)


def test_the_limits_are_those_that_are_kept() -> None:
    assert MAX_FRAME_BYTES == 512 * 1024
    for words in (
        f"for {PONG_S:.0f} s (they come every {PING_S:.0f} s)",
        f"within {LIMITS.auth_timeout_s:.0f} s or within {LIMITS.attempts} requests",
        f"nothing for {LIMITS.write_timeout_s:.0f} s, or for whom {LIMITS.queue} frames",
        f"of more than {LIMITS.first_frame_chars // 1024} KB",
        f"At most {LIMITS.connections} connections",
    ):
        assert words in PAGE
