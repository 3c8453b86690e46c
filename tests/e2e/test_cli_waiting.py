"""Approvals and questions from the command line, against a real daemon."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import DaemonWithModel, routes_to
from tests.support import program
from tests.support.command_line_process import Cli, Terminal, environment
from tests.support.daemon import DaemonProcess, wait_for
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e

ASK_FIRST = {"rules": [{"tool": "write_file", "decision": "ask", "reason": "we look first"}]}
ASK = {
    "questions": [
        {
            "question": "Which colour?",
            "options": [{"label": "red"}, {"label": "blue", "description": "as the sea"}],
        }
    ]
}


@pytest.fixture(scope="module")
def waiting_live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonWithModel]:
    home = tmp_path_factory.mktemp("waiting") / "home"
    with FakeModel() as fake, DaemonProcess(home, config=routes_to(fake)) as daemon:
        put = daemon.request("PUT", "/v1/permissions", json=ASK_FIRST)
        assert put.is_success, put.text
        yield DaemonWithModel(daemon, fake)
        fake.release()


@pytest.fixture
def cli(waiting_live: DaemonWithModel) -> Cli:
    return Cli(waiting_live.daemon)


@pytest.fixture
def session(waiting_live: DaemonWithModel) -> str:
    """A fresh session, whose id is also the name of a file that nobody else writes."""
    session_id: str = waiting_live.daemon.post("/v1/sessions", {})["session_id"]
    return session_id


@pytest.fixture
def terminal(waiting_live: DaemonWithModel) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(*arguments: str, **more: str) -> Terminal:
        settings = {**environment(waiting_live.daemon), **more}
        opened.append(Terminal([*arguments], settings))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


def write(session: str, content: str = "hello") -> FakeCall:
    return FakeCall(name="write_file", arguments={"path": f"{session}.txt", "content": content})


def waits(live: DaemonWithModel, session: str, *answers: Answer | str) -> dict[str, Any]:
    """A run that waits for a person."""
    live.model.queue(*answers)
    run_id = live.daemon.submit(session, "go")

    def reached() -> dict[str, Any] | None:
        view: dict[str, Any] = live.daemon.get(f"/v1/runs/{run_id}")
        return view if view["status"].startswith("waiting") else None

    return wait_for(reached, what=f"{run_id} to wait")


def written(live: DaemonWithModel, session: str) -> str | None:
    file: Path = live.daemon.home / "workspace" / f"{session}.txt"
    return file.read_text() if file.exists() else None


def test_a_run_that_waits_is_shown_with_the_command_that_lets_it_go_on(
    cli: Cli, waiting_live: DaemonWithModel, session: str
) -> None:
    run = waits(waiting_live, session, Answer(calls=(write(session),)), "written")
    (request_id,) = run["pending_approval_ids"]

    assert f"understudy approvals allow {request_id}" in cli("runs", "show", run["run_id"]).stdout
    assert request_id in cli("approvals", "list", "--session", session).stdout
    assert cli.json("approvals", "list", "--run", run["run_id"]) == waiting_live.daemon.get(
        "/v1/approvals", params={"run_id": run["run_id"]}
    )
    shown = cli("approvals", "show", request_id).stdout
    assert "we look first" in shown
    assert "content  hello" in shown

    done = cli("approvals", "allow", request_id, "--justification", "looks fine")

    assert "goes on" in done.stderr
    assert waiting_live.daemon.wait_for_run(run["run_id"])["status"] == "completed"
    assert written(waiting_live, session) == "hello"
    listed = cli("approvals", "list", "--session", session).stdout
    assert listed == f"Nothing matches --session {session}.\n"
    assert "allowed" in cli("approvals", "list", "--session", session, "--all").stdout
    assert "approval_state_conflict" in cli("approvals", "allow", request_id, code=4).stderr


def test_a_call_is_allowed_with_other_arguments(
    cli: Cli, waiting_live: DaemonWithModel, session: str, tmp_path: Path
) -> None:
    run = waits(waiting_live, session, Answer(calls=(write(session),)), "written")
    (request_id,) = run["pending_approval_ids"]
    file = tmp_path / "input.json"
    file.write_text(f'{{"path": "{session}.txt", "content": "changed"}}')

    cli("approvals", "allow", request_id, "--input", '{"path": 3}', code=2)
    cli("approvals", "allow", request_id, "--input", "{", code=2)
    answer = cli.json("approvals", "allow", request_id, "--input", f"@{file}")

    assert answer["run_id"] == run["run_id"]
    waiting_live.daemon.wait_for_run(run["run_id"])
    assert written(waiting_live, session) == "changed"
    assert "+content  changed" in cli("approvals", "show", request_id).stdout


def test_the_model_hears_why_a_call_was_denied(
    cli: Cli, waiting_live: DaemonWithModel, session: str
) -> None:
    run = waits(waiting_live, session, Answer(calls=(write(session),)), "as you wish")
    (request_id,) = run["pending_approval_ids"]

    cli("approvals", "deny", request_id, code=2)
    cli("approvals", "deny", request_id, "--reason", "not on a Friday")

    assert waiting_live.daemon.wait_for_run(run["run_id"])["status"] == "completed"
    assert "not on a Friday" in waiting_live.model.requests[-1].turns[-1].text
    assert written(waiting_live, session) is None


def test_several_approvals_of_a_run_take_effect_together_or_not_at_all(
    cli: Cli, waiting_live: DaemonWithModel, session: str
) -> None:
    calls = (write(session, "one"), write(session, "two"))
    run = waits(waiting_live, session, Answer(calls=calls), "both done")
    ids = run["pending_approval_ids"]

    assert cli.json("approvals", "allow", *ids, "apr_none", code=3)["code"] == "approval_not_found"
    cli("approvals", "allow", *ids, "--input", "{}", code=2)
    cli("approvals", "allow", *ids)

    waiting_live.daemon.wait_for_run(run["run_id"])
    events = waiting_live.daemon.get(f"/v1/runs/{run['run_id']}/events")["items"]
    (resolved,) = [each for each in events if each["event"]["type"] == "approval_resolved"]
    assert [each["request_id"] for each in resolved["event"]["resolutions"]] == ids


def test_a_question_is_answered_with_options_and_words(
    cli: Cli, waiting_live: DaemonWithModel, session: str
) -> None:
    run = waits(waiting_live, session, call("ask_user", ASK), "noted")
    (request_id,) = run["pending_question_ids"]

    assert "o1 = red" in cli("runs", "show", run["run_id"]).stdout
    assert "Which colour?" in cli("questions", "list", "--session", session).stdout
    assert "2. blue – as the sea  (o2)" in cli("questions", "show", request_id).stdout
    cli("questions", "answer", request_id, code=2)
    cli("questions", "answer", request_id, "--option", "o9", code=2)
    cli("questions", "answer", "qst_none", "--option", "o1", code=3)
    cli("questions", "answer", request_id, "--option", "blue", "--text", "dark, please")

    assert waiting_live.daemon.wait_for_run(run["run_id"])["status"] == "completed"
    told = waiting_live.model.requests[-1].turns[-1].text
    assert "blue" in told
    assert "dark, please" in told
    assert "question_state_conflict" in (
        cli("questions", "answer", request_id, "--text", "again", code=4).stderr
    )


def test_a_question_is_declined_or_withdrawn(
    cli: Cli, waiting_live: DaemonWithModel, session: str
) -> None:
    run = waits(waiting_live, session, call("ask_user", ASK), "then not")
    (request_id,) = run["pending_question_ids"]
    cli("questions", "decline", request_id, "--justification", "no idea")
    assert waiting_live.daemon.wait_for_run(run["run_id"])["status"] == "completed"
    assert "no idea" in waiting_live.model.requests[-1].turns[-1].text

    run = waits(waiting_live, session, call("ask_user", ASK))
    (request_id,) = run["pending_question_ids"]
    cli("questions", "cancel", request_id)
    assert waiting_live.daemon.wait_for_run(run["run_id"])["status"] == "cancelled"


def test_who_waits_for_a_run_is_told_that_it_waits_for_a_person(
    cli: Cli, waiting_live: DaemonWithModel, session: str
) -> None:
    run = waits(waiting_live, session, Answer(calls=(write(session),)), "written at last")
    (request_id,) = run["pending_approval_ids"]
    waiting = [
        subprocess.Popen(
            [*program.COMMAND, "runs", verb, run["run_id"]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(waiting_live.daemon),
        )
        for verb in ("wait", "watch")
    ]
    told = []
    for process in waiting:
        assert process.stderr is not None
        line = process.stderr.readline()
        while line and f"approvals allow {request_id}" not in line:
            line = process.stderr.readline()
        told.append(line)

    cli("approvals", "allow", request_id)

    outputs = [process.communicate(timeout=60)[0] for process in waiting]
    assert all(told)
    assert outputs == ["written at last\n"] * 2
    assert [process.returncode for process in waiting] == [0, 0]


def test_a_chat_without_a_terminal_says_what_is_needed_and_leaves(
    cli: Cli, waiting_live: DaemonWithModel, session: str
) -> None:
    waiting_live.model.queue(Answer(calls=(write(session),)), "written")
    done = cli("chat", "--session", session, "write it", code=4)
    (approval,) = cli.json("approvals", "list", "--session", session)["items"]
    assert f"understudy approvals allow {approval['id']}" in done.stderr

    # What is said now would only queue behind it.
    again = cli("chat", "--session", session, "and then?", code=4)
    assert "not sent" in again.stderr
    assert f"understudy approvals allow {approval['id']}" in again.stderr
    answer = cli.json("chat", "--session", session, "and then?", code=4)
    assert answer["pending_approval_ids"] == [approval["id"]]
    assert len(cli.json("runs", "list", "--session", session)["items"]) == 1
    cli("sessions", "input", session, "and then?", code=4)

    cli("approvals", "allow", approval["id"])
    waiting_live.daemon.wait_for_run(approval["run_id"])
    waiting_live.model.queue(Answer(calls=(write(session, "more"),)))
    waits_now = cli.json("chat", "--session", session, "and now?", code=4)
    assert waits_now["status"] == "waiting_for_approval"
    cli("runs", "cancel", waits_now["run_id"])
    waiting_live.daemon.wait_for_run(waits_now["run_id"])
    waiting_live.model.queue(call("ask_user", ASK))
    inline = cli("sessions", "input", session, "ask", code=4)
    assert "understudy questions answer" in inline.stderr


def test_in_a_chat_a_call_is_allowed_where_it_stands(
    waiting_live: DaemonWithModel, session: str, terminal: Callable[..., Terminal]
) -> None:
    chat = terminal("chat", "--session", session)
    chat.wait_for("/help lists")
    chat.wait_for_prompt()
    waiting_live.model.queue(
        Answer(text="I write it.", calls=(write(session),)),
        "It is written.",
        Answer(calls=(write(session, "other"),)),
        "Then not.",
    )
    chat.type("write it")
    chat.wait_for("[a]llow  [e]dit  [d]eny")
    assert "I write it." in chat.screen
    assert "we look first" in chat.screen
    assert "content  hello" in chat.screen
    chat.type("a")
    chat.wait_for("It is written.")
    chat.wait_for_prompt()
    assert written(waiting_live, session) == "hello"

    chat.type("write something else")
    chat.wait_for("[d]eny")
    chat.type("d")
    chat.wait_for("why not")
    chat.type("one is enough")
    chat.wait_for("Then not.")
    chat.wait_for_prompt()
    assert "one is enough" in waiting_live.model.requests[-1].turns[-1].text
    assert written(waiting_live, session) == "hello"


def test_in_a_chat_arguments_are_changed_in_an_editor(
    waiting_live: DaemonWithModel, session: str, terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/hello/$1/" "$2"\n')
    editor.chmod(0o755)
    waiting_live.model.queue(Answer(calls=(write(session),)), "Done.")
    chat = terminal("chat", "--session", session, "write it", EDITOR=f"{editor} goodbye", VISUAL="")
    chat.wait_for("[e]dit")
    chat.type("e")
    chat.wait_for("+content  goodbye")
    chat.wait_for("[a]llow as edited")
    chat.type("a")
    chat.wait_for("Done.")

    assert chat.process.wait(timeout=20) == 0
    assert written(waiting_live, session) == "goodbye"


def test_in_a_chat_a_question_is_answered_by_number_or_in_words(
    waiting_live: DaemonWithModel, session: str, terminal: Callable[..., Terminal]
) -> None:
    chat = terminal("chat", "--session", session)
    chat.wait_for_prompt()
    waiting_live.model.queue(call("ask_user", ASK), call("ask_user", ASK), "Noted.")
    chat.type("paint it")
    chat.wait_for("2. blue")
    chat.wait_for("or your own words")
    chat.type("7")
    chat.wait_for("there are 2 options")
    chat.type("2")
    chat.wait_for("1. red")
    chat.wait_for("or your own words")
    chat.type("a warm grey")
    chat.wait_for("Noted.")
    chat.wait_for_prompt()

    first, second = waiting_live.model.requests[-2:]
    assert "blue" in first.turns[-1].text
    assert "a warm grey" in second.turns[-1].text


def test_ctrl_c_at_a_question_leaves_the_run_waiting_and_the_next_chat_asks_again(
    waiting_live: DaemonWithModel, session: str, terminal: Callable[..., Terminal]
) -> None:
    chat = terminal("chat", "--session", session)
    chat.wait_for_prompt()
    waiting_live.model.queue(Answer(calls=(write(session),)), "Written.")
    chat.type("write it")
    chat.wait_for("[q]uit")
    for _ in range(20):
        chat.process.send_signal(signal.SIGINT)
        try:
            chat.wait_for("goes on waiting", timeout=5)
            break
        except AssertionError:
            continue
    chat.wait_for(f"understudy chat --session {session}")
    chat.wait_for_prompt()
    (run,) = waiting_live.daemon.get("/v1/runs", params={"session_id": session})["items"]
    assert run["status"] == "waiting_for_approval"
    chat.type("/pending")
    chat.wait_for("[q]uit")
    chat.type("q")
    chat.wait_for_prompt()
    chat.type("hello?")
    chat.wait_for("[q]uit")
    chat.type("q")
    chat.wait_for("not sent")
    chat.wait_for_prompt()
    chat.type("/quit")
    assert chat.process.wait(timeout=20) == 0

    again = terminal("chat", "--session", session)
    again.wait_for("[q]uit")
    assert "write_file" in again.screen
    again.type("a")
    again.wait_for("Written.")
    again.wait_for_prompt()
    assert again.screen.count("→ write_file") == 0
    again.type("/pending")
    again.wait_for("nothing waits for you")


def test_a_question_is_answered_at_the_terminal(
    waiting_live: DaemonWithModel, session: str, terminal: Callable[..., Terminal]
) -> None:
    run = waits(waiting_live, session, call("ask_user", ASK), "noted")
    (request_id,) = run["pending_question_ids"]

    asked = terminal("questions", "answer", request_id)
    asked.wait_for("1. red")
    asked.wait_for("own words")
    asked.type("1")

    assert asked.process.wait(timeout=20) == 0
    assert waiting_live.daemon.wait_for_run(run["run_id"])["status"] == "completed"


def test_a_review_walks_through_what_waits(
    cli: Cli, waiting_live: DaemonWithModel, session: str, terminal: Callable[..., Terminal]
) -> None:
    calls = (write(session, "one"), write(session, "two"), write(session, "three"))
    run = waits(waiting_live, session, Answer(calls=calls), "all decided")
    cli("approvals", "review", "--session", session, code=2)

    review = terminal("approvals", "review", "--session", session)
    review.wait_for("content  one")
    review.wait_for("[q]uit")
    assert "local" in review.screen
    review.type("a")
    review.wait_for("content  two")
    review.wait_for("[q]uit")
    review.type("w")
    review.wait_for("content  three")
    review.wait_for("[q]uit")
    review.type("d")
    review.wait_for("why not")
    review.type("enough")
    review.wait_for("1 allowed, 1 skipped, 1 denied")
    assert review.process.wait(timeout=20) == 0

    (left,) = cli.json("approvals", "list", "--session", session)["items"]
    assert left["input"]["content"] == "two"
    cli("approvals", "allow", left["id"])
    assert waiting_live.daemon.wait_for_run(run["run_id"])["status"] == "completed"


def test_a_review_of_questions_walks_through_them(
    cli: Cli, waiting_live: DaemonWithModel, session: str, terminal: Callable[..., Terminal]
) -> None:
    asks = tuple(FakeCall(name="ask_user", arguments=ASK) for _ in range(2))
    run = waits(waiting_live, session, Answer(calls=asks), "noted")
    first, second = run["pending_question_ids"]
    cli("questions", "review", "--session", session, code=2)

    review = terminal("questions", "review", "--session", session)
    review.wait_for(first)
    review.wait_for("own words")
    review.type("/skip")
    review.wait_for(second)
    review.wait_for("own words")
    review.type("2")
    review.wait_for("1 skipped, 1 answered")
    assert review.process.wait(timeout=20) == 0

    (left,) = cli.json("questions", "list", "--session", session)["items"]
    assert left["id"] == first
    cli("questions", "answer", first, "--option", "o1")
    assert waiting_live.daemon.wait_for_run(run["run_id"])["status"] == "completed"


def test_what_a_tool_answered_in_full_can_be_read(
    cli: Cli, waiting_live: DaemonWithModel, session: str
) -> None:
    rules = {"rules": [{"tool": "shell", "decision": "allow"}]}
    waiting_live.daemon.request("PUT", f"/v1/sessions/{session}/permissions", json=rules)
    waiting_live.model.queue(call("shell", {"command": "seq 1 20000"}), "counted")
    run = waiting_live.daemon.run(session, "count")

    (artifact,) = cli.json("runs", "artifacts", run["run_id"])["items"]
    assert artifact["artifact_id"] in cli("runs", "artifacts", run["run_id"]).stdout
    text = cli("runs", "artifacts", run["run_id"], artifact["artifact_id"]).stdout
    assert "\n19999\n20000" in text
    assert cli.json("runs", "artifacts", run["run_id"], artifact["artifact_id"]) == {
        "run_id": run["run_id"],
        "artifact_id": artifact["artifact_id"],
        "text": text,
    }
    cli("runs", "artifacts", run["run_id"], "art_none", code=3)


def test_a_newcomer_can_try_both_without_a_key(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path / "home") as daemon:
        chat = Terminal(["chat"], environment(daemon))
        try:
            chat.wait_for_prompt()
            chat.type("run echo $((6 * 7))")
            chat.wait_for("[a]llow")
            chat.type("a")
            chat.wait_for("shell answered:")
            chat.wait_for_prompt()
            assert "42" in chat.screen
            chat.type("ask me something")
            chat.wait_for("2. Coffee")
            chat.wait_for("own words")
            chat.type("1")
            chat.wait_for("Tea (o1)")
            chat.wait_for_prompt()
        finally:
            chat.close()
