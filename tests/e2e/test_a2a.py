"""Agent2Agent at a daemon that was installed without its library."""

from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess

pytestmark = pytest.mark.e2e


def test_a_daemon_without_the_extra_says_what_to_install(tmp_path: Path) -> None:
    # In front of the installed package, and as if it were not there.
    absent = tmp_path / "absent" / "a2a"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("raise ModuleNotFoundError('no a2a', name='a2a')\n")
    env = {"PYTHONPATH": str(absent.parent)}
    with DaemonProcess(tmp_path / "home", env=env, by_command_line=True) as daemon:
        call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "run_1"}}
        answer = daemon.request("POST", "/a2a", json=call)
        assert answer.status_code == 503
        assert "understudy[a2a]" in answer.json()["error"]["message"]
