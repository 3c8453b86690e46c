"""What tells two definitions apart, against values that were put together by hand."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from tests.support.rollout_factories import make_definition
from understudy.rollout.model import FORKED, Definition, fingerprint_of
from understudy.skills.runtime_settings import RuntimeSettings

PLAIN = Definition(skill_name="a:b", description="Does it.", instructions="Do it.")
FULL = Definition(
    skill_name="x",
    description="Für uns — 全部",
    instructions="  Say OK.\n",
    when_to_use="On Mondays.",
    version="1.2",
    runtime=replace(
        FORKED,
        allowed_tools=("read_file", "list_files"),
        blocked_tools=("shell",),
        provider="fast",
        model="m-1",
        fallback_model="m-0",
    ),
)
START = b"a:b\0description\0Does it.\0when_to_use\0\0version\0\0instructions\0Do it."
VECTORS = [
    (
        PLAIN,
        START + b'\0runtime\0{"context":"fork","agent_profile":"verification"}',
    ),
    (
        FULL,
        "x\0description\0Für uns — 全部\0when_to_use\0On Mondays.\0version\x001.2"
        '\0instructions\0Say OK.\0runtime\0{"allowed_tools":["read_file","list_files"],'
        '"blocked_tools":["shell"],"context":"fork","agent_profile":"verification",'
        '"provider":"fast","model":"m-1","fallback_model":"m-0"}'.encode(),
    ),
    (
        replace(PLAIN, runtime=RuntimeSettings()),
        START + b'\0runtime\0{"context":"inline"}',
    ),
]
CHANGES: dict[str, dict[str, Any]] = {
    "name": {"skill_name": "other"},
    "description": {"description": "Writes the release notes!"},
    "when to use": {"when_to_use": "always"},
    "version": {"version": "2"},
    "instructions": {"instructions": "Reply."},
    "allowed tools": {"runtime": replace(FORKED, allowed_tools=("read_file",))},
    "blocked tools": {"runtime": replace(FORKED, blocked_tools=("read_file",))},
    "provider": {"runtime": replace(FORKED, provider="m")},
    "model": {"runtime": replace(FORKED, model="m")},
    "fallback model": {"runtime": replace(FORKED, fallback_model="m")},
}


@pytest.mark.parametrize(("definition", "written"), VECTORS)
def test_a_fingerprint_is_the_digest_of_the_parts_in_their_order(
    definition: Definition, written: bytes
) -> None:
    assert fingerprint_of(definition) == hashlib.sha256(written).hexdigest()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_that_a_model_could_notice_is_another_fingerprint(
    change: dict[str, Any],
) -> None:
    changed = make_definition(**change)
    others = [make_definition(**other) for other in CHANGES.values() if other is not change]
    assert changed.fingerprint not in {it.fingerprint for it in (make_definition(), *others)}


def test_blanks_around_the_instructions_change_nothing() -> None:
    padded = make_definition(instructions="\n " + make_definition().instructions + " \n")
    assert padded.fingerprint == make_definition().fingerprint


def test_words_do_not_move_from_one_field_into_the_next() -> None:
    one = make_definition(when_to_use="ab", version=None)
    other = make_definition(when_to_use="a", version="b")
    assert one.fingerprint != other.fingerprint
