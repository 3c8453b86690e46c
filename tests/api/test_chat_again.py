"""`understudy chat -c` goes on with the caller's last session."""

from tests.api.live import Live
from tests.support.command_line_in_process import typed
from understudy.cli.output import ExitCode


def test_chat_goes_on_with_the_last_session(live: Live) -> None:
    live.session("earlier")
    live.session("latest")

    done = typed("--url", str(live.client.base_url), "chat", "-c", "hello")

    assert "@last is latest" in done.stderr
    assert "session latest" in done.stderr


def test_a_session_is_named_or_the_last_one(live: Live) -> None:
    done = typed("--url", str(live.client.base_url), "chat", "-c", "--session", "s", "hello")

    assert done.exit_code == ExitCode.USAGE
