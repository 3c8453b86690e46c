"""The command line against a real daemon."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import DaemonWithModel, routes_to
from tests.support import program
from tests.support.command_line_process import Cli, Terminal, environment
from tests.support.daemon import DaemonProcess, wait_for
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cli_live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonWithModel]:
    home = tmp_path_factory.mktemp("cli") / "home"
    with FakeModel() as fake, DaemonProcess(home, config=routes_to(fake)) as daemon:
        yield DaemonWithModel(daemon, fake)
        fake.release()


@pytest.fixture
def cli(cli_live: DaemonWithModel) -> Cli:
    return Cli(cli_live.daemon)


def test_json_is_what_the_api_answers(cli: Cli, cli_live: DaemonWithModel) -> None:
    cli("sessions", "create", "same")

    assert cli.json("sessions", "get", "same") == cli_live.daemon.get("/v1/sessions/same")
    assert cli.json("agents", "list") == cli_live.daemon.get("/v1/agents")
    assert cli.json("routes", "list") == cli_live.daemon.get("/v1/routes")
    assert cli.json("tools", "list") == cli_live.daemon.get("/v1/tools")


def test_a_run_is_submitted_waited_for_and_looked_at(cli: Cli, cli_live: DaemonWithModel) -> None:
    cli("sessions", "create", "work")
    cli_live.model.queue("the answer")

    submitted = cli("runs", "submit", "work", "the question")
    run_id = submitted.stdout.strip()

    assert "runs watch" in submitted.stderr
    assert cli("runs", "wait", run_id).stdout == "the answer\n"
    assert cli("runs", "watch", run_id).stdout == "the answer\n"
    heading, listed = cli("runs", "list", "--session", "work").stdout.splitlines()
    assert heading.split() == ["RUN", "STATUS", "SUBMITTED", "TOOK", "INPUT"]
    assert "the question" in listed
    assert "SESSION" in cli("runs", "list").stdout
    shown = cli("runs", "show", run_id).stdout
    assert "completed" in shown
    assert "the answer" in shown
    names = [
        json.loads(line) for line in cli("runs", "watch", run_id, "--json").stdout.splitlines()
    ]
    assert names[-1]["data"]["status"] == "completed"


def test_a_run_that_fails_fails_the_command_that_waits(cli: Cli, cli_live: DaemonWithModel) -> None:
    cli("sessions", "create", "failing")
    cli_live.model.fail(400)

    done = cli("runs", "submit", "failing", "x", "--wait", code=1)

    assert "failed" in done.stderr
    assert cli.json("runs", "list", "--session", "failing")["items"][0]["status"] == "failed"


def test_a_key_makes_a_repeat_find_the_same_run(cli: Cli) -> None:
    cli("sessions", "create", "keyed")
    line = ("runs", "submit", "keyed", "x", "--idempotency-key", "k1")

    assert cli(*line).stdout == cli(*line).stdout


def test_refusals_have_their_exit_codes(cli: Cli) -> None:
    cli("personas", "create", "strict", "--soul", "Be strict.")
    cli("sessions", "create", "taken")

    problem = cli.json("runs", "get", "nope", code=3)
    assert problem["code"] == "run_not_found"
    assert (
        "session_conflict"
        in cli("sessions", "create", "taken", "--persona", "strict", code=4).stderr
    )
    cli("runs", "submit", "taken", "x", "--max-tool-iterations", "0", code=2)
    cli("runs", "submit", "taken", code=2)
    cli("--url", "http://127.0.0.1:9", "status", code=5)


def test_a_session_is_bound_narrowed_and_ended(cli: Cli) -> None:
    cli("personas", "create", "poet", "--soul", "-", stdin="Write verse.")
    cli("sessions", "create", "bound", "--persona", "poet")
    cli("sessions", "set-capability-scope", "bound", "--allow", "skill=*", "--deny", "mcp_tool=t")
    cli("sessions", "set-route", "bound", "b")
    cli("sessions", "set-reply-targets", "bound", "local:inbox")

    view = cli.json("sessions", "show", "bound")
    assert view["persona"]["persona_id"] == "poet"
    assert view["capability_scope"] == {"skill_allow": ["*"], "mcp_tool_deny": ["t"]}
    assert view["route_policy"]["provider"] == "b"
    assert view["reply_targets"] == [{"plugin": "local", "address": "inbox"}]

    cli("sessions", "set-capability-scope", "bound", "--clear")
    cli("sessions", "clear-persona", "bound")
    cli("sessions", "clear-route", "bound")
    cli("sessions", "clear-reply-targets", "bound")
    assert "persona" not in cli.json("sessions", "show", "bound")
    cli("sessions", "end", "bound", "--reason", "done")
    assert cli.json("sessions", "show", "bound")["ended_reason"] == "done"


def test_files_of_an_agent_have_a_history(cli: Cli) -> None:
    cli("agents", "create", "writer")
    cli("agents", "files", "set", "writer", "SOUL.md", "first\n")
    cli("agents", "files", "set", "writer", "SOUL.md", "-", stdin="second\n")
    cli("agents", "files", "restore", "writer", "SOUL.md", "1")

    assert cli("agents", "files", "show", "writer", "SOUL.md").stdout == "first\n"
    history = cli.json("agents", "files", "history", "writer", "SOUL.md")["items"]
    assert [item["version"] for item in history] == [3, 2, 1]
    assert "agents.write_file" in cli("audit", "--resource", "agents").stdout


def test_doctor_finds_the_daemon_well(cli: Cli, cli_live: DaemonWithModel) -> None:
    cli_live.daemon.home.chmod(0o700)

    report = cli.json("doctor")

    assert report["ok"] is True
    assert {"daemon", "readiness", "auth", "version", "database", "routes", "home", "disk"} <= {
        check["code"] for check in report["checks"]
    }


def test_chat_says_one_message_and_leaves(cli: Cli, cli_live: DaemonWithModel) -> None:
    cli_live.model.queue(call("list_files", {"path": "."}), "Nothing there.")

    done = cli("chat", "--session", "talk", "what is there?")

    assert done.stdout == "Nothing there.\n"
    assert "session talk · agent default · route a (model-a)" in done.stderr
    assert "→ list_files" in done.stderr
    assert "← list_files ok" in done.stderr


def test_chat_can_take_another_route(cli: Cli, cli_live: DaemonWithModel) -> None:
    cli_live.model.queue("from b")

    done = cli("chat", "--route", "b", "who answers?")

    assert done.stdout == "from b\n"
    assert "route b (model-b)" in done.stderr
    assert cli_live.model.requests[-1].model == "model-b"


def test_chat_reads_its_message_from_a_pipe(cli: Cli, cli_live: DaemonWithModel) -> None:
    cli_live.model.queue("piped reply")

    assert cli("chat", stdin="a message\nof two lines").stdout == "piped reply\n"
    assert cli_live.model.requests[-1].last_user == "a message\nof two lines"
    cli("chat", stdin="  ", code=2)


@pytest.fixture
def terminal(cli_live: DaemonWithModel) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(*arguments: str) -> Terminal:
        opened.append(Terminal([*arguments], environment(cli_live.daemon)))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


def test_ctrl_c_interrupts_the_run_and_not_the_session(
    cli_live: DaemonWithModel, terminal: Callable[..., Terminal]
) -> None:
    model, daemon = cli_live.model, cli_live.daemon
    chat = terminal("chat", "--session", "broken-off")
    chat.wait_for("/help lists")
    model.queue(Answer(text="one two three four five six", pause_s=0.5), "second reply")
    chat.type("first")
    chat.wait_for("one")

    chat.process.send_signal(signal.SIGINT)

    chat.wait_for("interrupting the run; the session goes on")
    chat.wait_for("run interrupted")
    chat.wait_for_prompt()
    chat.type("again")
    chat.wait_for("second reply")
    chat.type("/status")
    chat.wait_for("broken-off")
    chat.type("/quit")
    assert chat.process.wait(timeout=20) == 0
    runs = daemon.get("/v1/runs", params={"session_id": "broken-off"})["items"]
    assert [run["status"] for run in runs] == ["completed", "interrupted"]
    assert daemon.get("/v1/sessions/broken-off")["snapshot"]["status"] == "active"


def test_a_failed_run_is_said_and_the_chat_goes_on(
    cli_live: DaemonWithModel, terminal: Callable[..., Terminal]
) -> None:
    chat = terminal("chat")
    chat.wait_for("/help lists")
    cli_live.model.fail(400)
    chat.type("first")
    chat.wait_for("run failed")
    cli_live.model.queue("better now")
    chat.type("/new")
    chat.wait_for("session ses_")
    chat.type("second")
    chat.wait_for("better now")
    chat.wait_for_prompt()

    # A signal that comes in the moment before the line is read is only seen at the next key.
    for _ in range(20):
        chat.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            chat.process.wait(timeout=1)
            break

    assert chat.process.returncode == 0


def test_watching_survives_a_restart_of_the_daemon(tmp_path: Path, model: FakeModel) -> None:
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as daemon:
        daemon.post("/v1/sessions", {"session_id": "s"})
        model.hold()
        run_id = daemon.submit("s", "hello")
        model.wait_for_requests(1)
        watch = subprocess.Popen(
            [*program.COMMAND, "runs", "watch", run_id, "--json"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(daemon),
        )
        assert watch.stdout is not None
        first = json.loads(watch.stdout.readline())
        assert first["event"] == "run_updated"

        daemon.kill()
        daemon.start()
        model.release()

        rest, _ = watch.communicate(timeout=60)
        events = [json.loads(line) for line in rest.splitlines()]
    assert watch.returncode == 0
    assert events[-1]["data"]["status"] == "completed"
    ids = [first["id"], *(event["id"] for event in events)]
    assert len(ids) == len(set(ids))


def test_a_chat_tells_what_it_waits_for_and_outlives_a_restart(
    tmp_path: Path, model: FakeModel
) -> None:
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as daemon:
        chat = Terminal(["chat", "--session", "s"], environment(daemon))
        chat.wait_for("/help lists")
        model.hold()
        chat.type("hello")
        chat.wait_for("waiting for the model…")

        daemon.kill()
        chat.wait_for("the daemon is away; waiting…")
        daemon.start()
        model.queue("here again")
        model.release()

        chat.wait_for("here again")
        chat.wait_for_prompt()
        chat.close()


def test_tokens_shut_out_whoever_has_none(tmp_path: Path, model: FakeModel) -> None:
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as daemon:
        cli = Cli(daemon)
        refused = cli.json("tokens", "create", "bob", code=4)
        assert refused["code"] == "first_token_not_admin"
        assert cli.json("tokens", "list")["items"] == []
        token = cli("tokens", "create", "ann", "--role", "admin").stdout.strip()
        link = cli("--token", token, "open", "--print").stdout.strip()
        assert link.startswith(f"{daemon.url}/signin/")

        assert "UNDERSTUDY_TOKEN" in cli("status", code=4).stderr
        assert cli.json("doctor", code=1)["ok"] is False
        assert cli.json("status", "--token", token)["ready"] is True
        assert "unknown or was deleted" in cli("status", "--token", "und_no", code=4).stderr
        assert cli("tokens", "create", "bob", code=4).stderr.startswith("error: a bearer token")
        cli.environment["UNDERSTUDY_TOKEN"] = token
        (listed,) = cli.json("tokens", "list")["items"]
        assert listed["user_id"] == "ann"
        assert token not in json.dumps(listed)
        cli("tokens", "create", "bob", "--locale", "vi-VN")
        assert cli.json("tokens", "list")["items"][0]["locale"] == "vi"
        assert " vi " in cli("tokens", "list").stdout
        assert "en, vi, zh" in cli("tokens", "create", "eve", "--locale", "fr", code=2).stderr


def test_a_first_token_without_an_admin_can_be_insisted_on(
    tmp_path: Path, model: FakeModel
) -> None:
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as daemon:
        cli = Cli(daemon)

        assert "--role admin" in cli("tokens", "create", "bob", code=4).stderr
        token = cli("tokens", "create", "bob", "--yes").stdout.strip()

        assert cli.json("status", "--token", token)["ready"] is True
        cli("tokens", "list", "--token", token, code=4)


def test_a_daemon_that_cannot_serve_says_why_in_one_line(
    cli_live: DaemonWithModel, cli: Cli
) -> None:
    taken = cli("serve", "--bind", f"127.0.0.1:{cli_live.daemon.port}", code=1)

    assert len(taken.stderr.splitlines()) == 1
    assert wait_for(cli_live.daemon.is_running)
