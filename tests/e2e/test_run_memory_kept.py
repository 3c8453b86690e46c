"""Run memory as people meet it: nothing secret in it, kept as the policy says, in order after a start."""

import json
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import DaemonWithModel, routes_to
from tests.support.command_line_process import Cli
from tests.support.daemon import DaemonProcess, capture_off, wait_for
from tests.support.run_memory_reads import section_in, summaries, system_text, told
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e

POLICY = "/v1/runtime/run-memory-policy"
DAY_MS = 24 * 3600 * 1000
# Put together here, so that nobody takes them for keys of somebody's.
JWT = ".".join(
    ("eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0", "c2lnbmF0dXJlLW9mLWl0")
)
BEGIN, END = (f"-----{word} " + "PRIVATE KEY-----" for word in ("BEGIN", "END"))
KEY_BYTES = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
OPENAI_KEY = "sk-" + "proj-" + "abcdef1234567890"
# What runs say, and what of it nobody may ever read again.
FAMILIES = {
    "write alice@example.com about 123-45-6789": ("alice@example.com", "123-45-6789"),
    "call 555-123-4567 or (415) 555-2671 or +1 415 555 2671": ("555-123-4567", "555-2671", "2671"),
    "pay 4111-1111-1111-1111, then 4242 4242 4242 4242": ("4111-1111", "4242"),
    f"use {'sk-' + 'ant-x1'} {'ghp_' + '1234567890'} {'github_' + 'pat_1'} here": (
        "ant-x1",
        "1234567890",
        "pat_1",
    ),
    f"or {'xoxb-' + '1-2'} {'AKIA' + 'ABCDEFGHIJKLMNOP'} there": ("xoxb-1", "ABCDEFGH"),
    f"send Bearer raw-token and {JWT}": ("raw-token", JWT, JWT.split(".")[1]),
    "get https://h.test/i?token=t1&safe=1&signature=s1&api_key=k1&secret=z1": (
        "token=t1",
        "signature=s1",
        "api_key=k1",
        "secret=z1",
    ),
    f"sign with\n{BEGIN}\n{KEY_BYTES}\n{END}\nplease": (KEY_BYTES, KEY_BYTES[:8]),
    f"the rest is missing\n{BEGIN}\n{KEY_BYTES}\n{KEY_BYTES}": (KEY_BYTES, KEY_BYTES[:8]),
}
MARKERS = [f"<redacted:{kind}>" for kind in ("email", "ssn", "phone", "card", "private-key")]


@pytest.fixture(scope="module")
def lasting_live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonWithModel]:
    home = tmp_path_factory.mktemp("acceptance") / "home"
    with FakeModel() as fake, DaemonProcess(home, config=routes_to(fake)) as daemon:
        capture_off(daemon)
        yield DaemonWithModel(daemon, fake)


@pytest.fixture
def shared(lasting_live: DaemonWithModel) -> DaemonWithModel:
    """A daemon that remembers nothing and has the policy that it came with."""
    lasting_live.model.forget()
    for enabled in (False, True):
        lasting_live.daemon.post(POLICY, {"enabled": enabled})
    return lasting_live


def file_of(daemon: DaemonProcess, run_id: str) -> Path:
    return daemon.home / "run-memories" / "__safe" / f"id-{run_id.encode().hex()}.json"


def files(daemon: DaemonProcess) -> set[str]:
    return {path.name for path in (daemon.home / "run-memories").rglob("*.json")}


def names(daemon: DaemonProcess, run_ids: list[str]) -> set[str]:
    return {file_of(daemon, run_id).name for run_id in run_ids}


def say(daemon: DaemonProcess, session: str, *texts: str) -> list[str]:
    """Runs in a session of their own, oldest first."""
    daemon.post("/v1/sessions", {"session_id": session})
    return [str(daemon.run(session, text)["run_id"]) for text in texts]


def request_kept(daemon: DaemonProcess, session: str, text: str) -> str:
    """What is remembered of a request."""
    [run_id] = say(daemon, session, text)
    return str(json.loads(file_of(daemon, run_id).read_text())["memory"]["request_preview"])


def status(daemon: DaemonProcess) -> Any:
    return daemon.get("/v1/status")["run_memory"]


def found(daemon: DaemonProcess, session: str) -> list[str]:
    answer = daemon.get(f"/v1/sessions/{session}/memory-search", params={"limit": 50})
    return [it["source_id"] for it in answer["results"] if it["kind"] == "recovered_run"]


def rewrite(path: Path, *, to: Path | None = None, session_id: str = "", **memory: object) -> None:
    """Change a record, as somebody with an editor could."""
    record = json.loads(path.read_text())
    record["memory"] |= memory
    record["session_id"] = session_id or record["session_id"]
    (to or path).write_text(json.dumps(record))


def has(text: str, value: str) -> bool:
    """Whether a value is in a text; four digits may stand in any id or time, but not alone."""
    if len(value) > len("2671"):
        return value in text
    return re.search(rf"(?<!\w){value}(?!\w)", text) is not None


def test_no_family_of_secrets_is_remembered_found_recalled_or_recorded(
    shared: DaemonWithModel,
) -> None:
    daemon, model = shared.daemon, shared.model
    daemon.post(POLICY, {"max_prompt_entries": len(FAMILIES)})
    before = status(daemon)["metrics"]["redacted_fields_total"]
    model.queue(*FAMILIES)
    run_ids = say(daemon, "families", *FAMILIES)

    after = daemon.run("families", "what was all that?", debug_level="requests")["run_id"]

    assert sorted(told(model)) == sorted(run_ids)
    recalled = "\n".join(summaries(model))
    places = {
        "files": "".join(file_of(daemon, run_id).read_text() for run_id in run_ids),
        "search": str(daemon.get("/v1/sessions/families/memory-search", params={"limit": 50})),
        "prompt": section_in(system_text(model)) + recalled,
        "debug": str(daemon.get(f"/v1/runs/{after}/debug")),
    }
    raw = {value for values in FAMILIES.values() for value in values}
    held = {place: [value for value in raw if has(text, value)] for place, text in places.items()}
    assert held == {place: [] for place in places}
    assert all("safe=1" in text for text in places.values())
    assert [marker for marker in MARKERS if marker not in recalled] == []
    # Once in what was asked and once in what was said, of each run.
    assert status(daemon)["metrics"]["redacted_fields_total"] - before >= 2 * len(FAMILIES)


def test_personal_data_may_stay_and_secrets_may_not(shared: DaemonWithModel) -> None:
    shared.daemon.post(POLICY, {"redact_pii": False})

    kept = request_kept(shared.daemon, "open", f"mail alice@example.com {OPENAI_KEY} and {JWT}")

    assert "mail alice@example.com" in kept
    assert "abcdef" not in kept
    assert "eyJ" not in kept


def test_only_what_is_a_card_number_is_taken_for_one(shared: DaemonWithModel) -> None:
    numbers = "4242424242424241, 4242 4242 4242 4241, 4242424242424242"

    kept = request_kept(shared.daemon, "cards", f"of {numbers} one is a card")

    assert kept == "of 4242424242424241, 4242 4242 4242 4241, <redacted:card> one is a card"


def test_neither_too_much_nor_too_little_is_taken_out(shared: DaemonWithModel) -> None:
    first = "Backup at 2026-06-30 12:00 on 192.168.10.100 build 2026.06.30.01"
    calls = "; call +33612345678 or +44 20 7946 0958; mail mailto:bob@example.com"
    logins = f"db postgres://u:{'hunter' + '2'}@h/db; Authorization: Basic {'dXNlcjpw' + 'YXNz'}"

    kept = request_kept(shared.daemon, "reach", first + calls)
    kept += request_kept(shared.daemon, "logins", logins)

    assert first in kept
    gone = ("336", "5678", "7946", "0958", "bob", "hunter2", "dXNl", "YXNz")
    assert [left for left in gone if left in kept] == []


def test_tokens_of_many_vendors_are_taken_out_whole(shared: DaemonWithModel) -> None:
    body = "Zx81kQ0vT4mB7nR2sW9yL3cF6hJ5pD8gA1e"
    lengths = {"AIza": 35, "glpat-": 20, "hf_": 34, "npm_": 35, "sk_live_": 24, "gho_": 35}
    tokens = [prefix + body[:length] for prefix, length in lengths.items()]
    tokens += ["ASIA" + "ABCDEFGHIJKLMNOP", "BEARER abc.def", f"x={OPENAI_KEY}"]
    [run_id] = say(shared.daemon, "vendors", "\n".join(tokens))

    memory = shared.daemon.get(f"/v1/run-memories/{run_id}", params={"evidence": "true"})

    for left in (body[:8], "ABCDEFGH", "abc.def", "abcdef"):
        assert left not in str(memory)


def test_a_smaller_policy_is_in_force_when_its_answer_comes(shared: DaemonWithModel) -> None:
    daemon = shared.daemon
    run_ids = say(daemon, "many", *"abcde")
    revision = daemon.get(POLICY)["revision"]

    answer = daemon.post(POLICY, {"max_tracked_per_session": 2, "max_prompt_entries": 1})

    assert files(daemon) == names(daemon, run_ids[3:])
    assert answer["revision"] == revision + 1
    report = status(daemon)["maintenance"]
    assert (report["source"], report["index_rebuilt"]) == ("runtime_policy", True)
    assert report["pruned_overflow_count"] == 3
    assert found(daemon, "many") == run_ids[:2:-1]


def test_while_disabled_nothing_is_kept_and_nothing_comes_back(shared: DaemonWithModel) -> None:
    daemon, model = shared.daemon, shared.model
    say(daemon, "off", "one", "two")

    daemon.post(POLICY, {"enabled": False})
    assert files(daemon) == set()
    say(daemon, "off", "three")

    assert files(daemon) == set()
    assert section_in(system_text(model)) == ""
    assert found(daemon, "off") == []
    daemon.post(POLICY, {"enabled": True})
    assert (files(daemon), found(daemon, "off")) == (set(), [])


def test_however_much_goes_its_report_stays_short(shared: DaemonWithModel) -> None:
    daemon = shared.daemon
    [run_id] = say(daemon, "long-ago", "hello")
    long_ago = int(time.time() * 1000) - 2 * DAY_MS
    for copy in copies_of(daemon, run_id, 100):
        rewrite(
            file_of(daemon, run_id), to=file_of(daemon, copy), run_id=copy, recorded_at_ms=long_ago
        )

    daemon.post(POLICY, {"retention_ms": DAY_MS})

    assert files(daemon) == names(daemon, [run_id])
    report = status(daemon)["maintenance"]
    assert (report["pruned_ttl_count"], len(report["diagnostics"])) == (100, 32)
    fields = {"action", "reason", "run_id", "path", "message"}
    assert all(set(told_of) <= fields for told_of in report["diagnostics"])


def copies_of(daemon: DaemonProcess, run_id: str, count: int) -> list[str]:
    """Runs that ended as another did; their ids."""
    copies = [f"{run_id}-{number}" for number in range(count)]
    with sqlite3.connect(daemon.home / "understudy.db", timeout=30) as database:
        database.row_factory = sqlite3.Row
        [row] = database.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,))
        rows = [{**dict(row), "run_id": copy} for copy in copies]
        values = ", ".join(f":{name}" for name in row.keys())  # noqa: SIM118 - a row yields values
        database.executemany(f"INSERT INTO runs VALUES ({values})", rows)
    database.close()
    return copies


@pytest.fixture
def daemon(tmp_path: Path, model: FakeModel) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as started:
        yield started


def waiting_run(daemon: DaemonProcess, model: FakeModel) -> str:
    """A run that waits until somebody lets it write."""
    daemon.post("/v1/sessions", {"session_id": "held"})
    rules = [{"tool": "write_file", "decision": "ask"}]
    daemon.request("PUT", "/v1/sessions/held/permissions", json={"rules": rules})
    model.queue(call("write_file", {"path": "note.txt", "content": "x"}))
    run_id = daemon.submit("held", "write")
    wait_for(lambda: run_status(daemon, run_id) == "waiting_for_approval", what="the run to wait")
    return run_id


def run_status(daemon: DaemonProcess, run_id: str) -> str:
    return str(daemon.get(f"/v1/runs/{run_id}")["status"])


def test_a_start_tidies_up_and_the_policy_is_what_it_was(
    daemon: DaemonProcess, model: FakeModel
) -> None:
    set_before = daemon.post(POLICY, {"retention_ms": DAY_MS, "max_prompt_entries": 2})
    kept, old, moved = say(daemon, "s1", "one", "two", "three")
    [other] = say(daemon, "s2", "other")
    waiting = waiting_run(daemon, model)
    assert not file_of(daemon, waiting).exists()
    assert status(daemon)["metrics"]["stored_total"] == 4
    daemon.stop()
    rewrite(file_of(daemon, old), recorded_at_ms=int(time.time() * 1000) - 2 * DAY_MS)
    rewrite(file_of(daemon, moved), session_id="s2")
    rewrite(file_of(daemon, kept), to=file_of(daemon, waiting), run_id=waiting, session_id="held")
    shutil.copy(file_of(daemon, kept), daemon.home / "run-memories" / f"{kept}.json")
    for stray in (
        file_of(daemon, "run-999"),
        file_of(daemon, kept).with_name("not-a-safe-id.json"),
    ):
        stray.write_text("{}")

    daemon.start()

    assert files(daemon) == names(daemon, [kept, other])
    report = status(daemon)["maintenance"]
    assert (report["source"], report["pruned_ttl_count"]) == ("startup", 1)
    # Four that belong to no ended run, and one that claims to be of another session.
    assert report["pruned_orphan_file_count"] == 5
    metrics = status(daemon)["metrics"]
    assert (metrics["pruned_orphan_total"], metrics["pruned_ttl_total"]) == (5, 1)
    assert (metrics["stored_total"], metrics["injected_total"]) == (0, 0)
    assert daemon.get(POLICY) == set_before
    assert run_status(daemon, waiting) == "waiting_for_approval"
    [check] = [
        check
        for check in Cli(daemon).json("doctor")["checks"]
        if check["code"] == "run_memory_maintenance"
    ]
    assert (check["severity"], "fix" in check) == ("info", False)
    assert (found(daemon, "s1"), found(daemon, "s2")) == ([kept], [other])
