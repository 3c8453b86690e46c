"""What `make dist` builds is the whole program: installed without a clone, it serves and answers."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.support.daemon import wait_for
from tests.support.environment import without_settings
from tests.support.postgres_server import free_port

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
UV = os.environ.get("UV") or shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**without_settings(os.environ), "VIRTUAL_ENV": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    options = ["--offline", "--quiet", "--no-build-isolation", "--python", sys.executable]
    run(UV, "build", *options, "--out-dir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel and what the lock names, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    locked = folder / "pylock.toml"
    form = ["--frozen", "--quiet", "--no-dev", "--no-emit-project", "--format", "pylock.toml"]
    run(UV, "export", "--project", ROOT, *form, "-o", locked)
    run(UV, "venv", "--offline", "--quiet", "--python", sys.executable, folder / "env")
    into = ["pip", "install", "--offline", "--quiet", "--python", str(folder / "env")]
    run(UV, *into, "-r", locked)
    run(UV, *into, "--no-deps", next(built.glob("*.whl")))
    return folder / "env" / "bin"


def test_every_file_of_the_package_and_every_page_is_inside(built: Path) -> None:
    tracked = run("git", "ls-files", "src/understudy", "docs", cwd=ROOT).splitlines()
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        in_wheel = set(wheel.namelist())
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        in_sdist = {name.partition("/")[2] for name in sdist.getnames()}
    pages = "understudy/console/documentation/"

    expected = {
        path.removeprefix("src/") if path.startswith("src/") else pages + path for path in tracked
    }
    assert expected - in_wheel == set()
    assert set(tracked) - in_sdist == set()


def test_the_installed_command_says_what_it_is(installed: Path, tmp_path: Path) -> None:
    version = re.findall(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    told = run(installed / "understudy", "version", "--json", cwd=tmp_path)

    assert json.loads(told)["version"] == version[0]


def test_what_was_installed_serves_console_docs_and_a_conversation(
    installed: Path, tmp_path: Path
) -> None:
    with (
        served(installed, tmp_path) as url,
        httpx2.Client(base_url=url, timeout=60, follow_redirects=True) as client,
    ):
        for path, part in {
            "/": "Understudy",
            "/docs/howto/install": "uv tool install",
            "/openapi.json": '"openapi"',
        }.items():
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert part in answer.text, path
        (style,) = re.findall(r'rel="stylesheet" href="([^"]+)"', client.get("/").text)
        assert client.get(style).headers["content-type"].startswith("text/css")
        said = run(
            installed / "understudy", "chat", "--url", url, "write hello to note.txt", cwd=tmp_path
        )
        assert "note.txt" in said


def test_the_health_check_of_the_container_tells_a_daemon_from_none(
    installed: Path, tmp_path: Path
) -> None:
    text = (ROOT / "deploy" / "Containerfile").read_text().replace("\\\n", "")
    (check,) = re.findall(r"^HEALTHCHECK .* CMD (\[.*\])$", text, re.MULTILINE)
    python, *arguments = json.loads(check)

    with served(installed, tmp_path) as url:
        here = [part.replace("http://127.0.0.1:4600", url) for part in arguments]
        run(installed / python, *here)
    gone = subprocess.run([installed / python, *here], capture_output=True, timeout=60)
    assert gone.returncode != 0


@contextmanager
def served(programs: Path, folder: Path) -> Iterator[str]:
    """The address of a daemon that was started with nothing but an empty home."""
    address = f"127.0.0.1:{free_port()}"
    with (folder / "log").open("w") as log:
        daemon = subprocess.Popen(
            [programs / "understudy", "serve", "--home", folder / "home", "--bind", address],
            cwd=folder,
            env=without_settings(os.environ),
            stderr=log,
        )
    try:
        wait_for(
            lambda: httpx2.get(f"http://{address}/readyz").is_success, what="a daemon that is ready"
        )
        yield f"http://{address}"
    finally:
        daemon.terminate()
        daemon.wait(60)
