"""A home of an earlier version opens: everything in it reads as it did, and its runs go on.

`homes/41f7bf00-answers.tar.xz` holds a home that commit 41f7bf00 wrote, driven over HTTP with the
scripted model, and `answers.json`: what that version answered to GET on each path of a copy of it,
with `{home}` for the directory. The script of its model is in the home.
"""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.e2e.conftest import routes_to
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.planned_runs import MODEL_CALLS, all_ended, check_journal, journal_of
from understudy.storage.engine import open_engine
from understudy.storage.migrate import VERSION_TABLE
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e

# Made again by the rule of today when the home opens; said in the words of today.
RECOMPUTED = frozenset({"semantic_key", "subject_key", "words"})
OLD_HOME = Path(__file__).parent / "homes" / "41f7bf00-answers.tar.xz"
# Killed by commit 41f7bf00 with a run under way and two in line in each of two sessions, which its
# durable engine kept in the same file.
QUEUED_HOME = Path(__file__).parent / "homes" / "41f7bf00.tar.xz"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The unpacked archive."""
    with tarfile.open(OLD_HOME) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def lost(before: Any, now: Any, where: str) -> Iterator[str]:
    """Where `now` lacks or changes a value of `before`; fields and actions may have been added."""
    if where.endswith("/actions"):
        yield from (f"{where}: {each} is gone" for each in before if each not in (now or ()))
    elif isinstance(before, dict) and isinstance(now, dict):
        for name in before.keys() - RECOMPUTED:
            yield from lost(before[name], now.get(name), f"{where}/{name}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, pair in enumerate(zip(before, now, strict=True)):
            yield from lost(*pair, f"{where}/{number}")
    elif before != now:
        yield f"{where}: {before!r} is now {now!r}"


def test_everything_in_an_old_home_reads_as_it_did(old: Path) -> None:
    text = (old / "answers.json").read_text(encoding="utf-8")
    answers = json.loads(text.replace("{home}", str(old / "home")))
    with DaemonProcess(old / "home") as daemon, daemon.client() as client:
        now = {path: client.get(path) for path in answers}

    assert {path: answer.status_code for path, answer in now.items()} == dict.fromkeys(now, 200)
    changed = [each for path in answers for each in lost(answers[path], now[path].json(), path)]
    assert changed == []


def test_runs_that_waited_in_an_old_home_go_on(old: Path) -> None:
    with DaemonProcess(old / "home") as daemon:
        [question] = daemon.get("/v1/questions")["items"]
        [approval] = daemon.get("/v1/approvals")["items"]
        answer = {"question_id": "q1", "selected_option_ids": ["o1"]}
        resolution = {"request_id": question["id"], "answers": [answer]}
        asked, held = question["run_id"], approval["run_id"]
        daemon.post(f"/v1/runs/{asked}/questions", {"resolution": resolution})
        allowed = {"request_id": approval["id"], "behavior": "allow"}
        daemon.post(f"/v1/runs/{held}/approvals", {"resolutions": [allowed]})
        ended = [daemon.wait_for_run(run_id) for run_id in (asked, held)]

    assert [run["status"] for run in ended] == ["completed", "completed"]


def test_runs_that_an_older_version_had_queued_in_the_engine_go_on_in_their_order(
    tmp_path: Path, model: FakeModel
) -> None:
    with tarfile.open(QUEUED_HOME) as archive:
        archive.extractall(tmp_path, filter="data")
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as daemon:
        runs = wait_for(lambda: all_ended(daemon, 7), what="all runs to end")
        for session in ("s1", "s2"):
            of_session = [run_id for run_id in runs if runs[run_id]["session_id"] == session]
            check_journal(journal_of(daemon, session), sorted(of_session))

    assert {run["status"] for run in runs.values()} == {"completed"}
    # Of the two that were under way, the call in flight was repeated.
    assert len(model.requests) == 2 * 3 * MODEL_CALLS


def test_a_home_older_than_that_is_left_alone_and_told_what_upgrades_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    engine = open_engine(f"sqlite:///{home / 'understudy.db'}")
    with engine.begin() as connection:
        connection.execute(sa.text(f"CREATE TABLE {VERSION_TABLE} (version_num TEXT)"))
        connection.execute(sa.text(f"INSERT INTO {VERSION_TABLE} VALUES ('0031')"))
    engine.dispose()
    content = (home / "understudy.db").read_bytes()

    daemon = DaemonProcess(home).start(wait=False)
    code = daemon.wait_for_exit()

    said = [line for line in daemon.log().splitlines() if "0031" in line]
    assert code == 1
    assert len(said) == 1
    assert "its schema '0031' is that of an Understudy before commit 41f7bf00" in said[0]
    assert "start it once with commit 41f7bf00, then with this version" in said[0]
    assert "docs/howto/operate.md" in said[0]
    assert (home / "understudy.db").read_bytes() == content
