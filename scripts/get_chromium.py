"""Bring Chromium for the tests of the console where that is possible: with apt-get, as root.

Does nothing when there is a browser, and never fails: without one those tests are skipped, and say
so. Runs on any python3 since 3.6.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COMMANDS = (
    ("apt-get", "update", "-q"),
    ("apt-get", "install", "-q", "-y", "--no-install-recommends", "chromium"),
)
# Some of a minute on a good line; a hanging mirror must not hold up the tests.
PATIENCE_S = 300


def main():
    """Install it unless it is there."""
    if os.environ.get("UNDERSTUDY_TEST_CHROMIUM") or any(map(shutil.which, NAMES)):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        print("There is no Chromium: the browser tests will be skipped.", file=sys.stderr)
        return
    print("Installing Chromium for the browser tests with apt-get", file=sys.stderr)
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    for command in COMMANDS:
        try:
            subprocess.run(
                command,
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE_S,
                env=env,
            )
        except (OSError, subprocess.SubprocessError) as problem:
            print("Chromium could not be installed: %s" % problem, file=sys.stderr)
            print("The browser tests will be skipped.", file=sys.stderr)
            return


if __name__ == "__main__":
    main()
