"""Frames of the right shape with whatever values: every one is answered, none by an internal error."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from tests.support.ws_skill_server import WsSkillServer, ws_skill_server
from understudy.storage.engine import open_engine
from understudy.ws.methods import METHODS

EXAMPLES = int(os.environ.get("UNDERSTUDY_TEST_EXAMPLES", "2")) * 20
# Ids and names that exist beside those that cannot.
KNOWN = st.sampled_from(
    ["default", "SOUL.md", "USER.md", "AGENTS.md", "weekly-report", "../x", "a/b", "%00", "", "—"]
)
TEXTS = KNOWN | st.text(st.characters(codec="utf-8"), max_size=40) | st.text("a/.", max_size=600)
VALUES: st.SearchStrategy[Any] = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def value_of(field: FieldInfo) -> st.SearchStrategy[Any]:
    """Mostly of the type that the field has."""
    told = str(field.annotation)
    fitting = {"str": TEXTS, "int": st.integers(-5, 2**62), "bool": st.booleans()}
    return next((kind for name, kind in fitting.items() if name in told), VALUES) | VALUES


def params_of(method: str) -> st.SearchStrategy[dict[str, Any]]:
    fields = METHODS[method].params.model_fields
    needed = {f.alias or n: value_of(f) for n, f in fields.items() if f.is_required()}
    others = {f.alias or n: value_of(f) for n, f in fields.items() if not f.is_required()}
    return st.fixed_dictionaries(needed, optional=others)


FRAMES = st.sampled_from(sorted(METHODS)).flatmap(
    lambda method: st.tuples(st.just(method), params_of(method))
)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Any
) -> Iterator[WsSkillServer]:
    folder = tmp_path_factory.mktemp("fuzz")
    shutil.copy(sqlite_template, folder / "understudy.db")
    engine = open_engine(f"sqlite:///{folder / 'understudy.db'}")
    with ws_skill_server(engine, folder) as opened:
        yield opened
    engine.dispose()


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
@given(frames=st.lists(FRAMES, min_size=1, max_size=8))
def test_no_frame_of_the_right_shape_is_an_internal_error(
    server: WsSkillServer, frames: list[tuple[str, dict[str, Any]]]
) -> None:
    with server.rpc("root") as client:
        for method, params in frames:
            answer = client.ask(method, params)
            assert answer["ok"] or answer["error"]["code"] != "INTERNAL", (method, params, answer)
