"""What the daemon does to its own process."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environment import without_settings

# With a workspace that cannot be made: it ends when the process is ready, before all else.
PROGRAM = """
import os, sys
from pathlib import Path
from understudy.daemon.serve import serve
from understudy.settings import Flags, load_settings
from understudy.tools.process_tree import PR_GET_DUMPABLE, prctl

home = Path(sys.argv[1])
(home / "file").touch()
print(prctl(PR_GET_DUMPABLE), serve(load_settings(Flags(home=home, workspace=home / "file"))))
print(prctl(PR_GET_DUMPABLE), oct(os.umask(0)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_others_of_the_same_user_cannot_look_into_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env=without_settings({"PATH": "/bin"}),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == ["1 1", "0 0o77"]
    assert "cannot make" in done.stderr
