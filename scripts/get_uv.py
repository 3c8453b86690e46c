"""Find a usable uv, or put one into a directory, with nothing but a bare python3.

`--find` prints the uv on PATH if it works and is new enough. `--install DIR VERSION` makes
DIR/bin/uv with the first of these that works: a virtual environment and its pip, pip alone, a
virtual environment after apt-get brought what it lacks. Runs on any python3 since 3.6, so it keeps
to old syntax.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (0, 9, 17)  # the first that reads `exclude-newer` as a duration; see pyproject.toml


def version_of(uv):
    """The version a uv reports as a tuple, or an empty one when it does not run."""
    try:
        out = subprocess.run(
            [str(uv), "--version"],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = re.match(rb"uv (\d+)\.(\d+)\.(\d+)", out.stdout)
    return tuple(int(part) for part in match.groups()) if match else ()


def find():
    """Print the uv on PATH when it can be used."""
    uv = shutil.which("uv")
    if uv and version_of(uv) >= OLDEST:
        print(uv)


def with_venv(target, version):
    """A virtual environment of its own, filled by its pip."""
    run(sys.executable, "-m", "venv", "--clear", str(target))
    run(str(target / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv==" + version)


def with_pip(target, version):
    """The pip that python3 already has, when the venv module lacks ensurepip."""
    library = target / "lib"
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--target",
        str(library),
        "uv==" + version,
    )
    place(target, (library / "bin" / "uv").read_bytes())


def with_apt(target, version):
    """Debian keeps venv in a package of its own; root can fetch it."""
    if has_venv() or not shutil.which("apt-get") or os.geteuid() != 0:
        raise OSError("needs apt-get, root, and a python3 that lacks venv")
    print("python3 has no venv; fetching python3-venv with apt-get", file=sys.stderr)
    run("apt-get", "update", "-q")
    run("apt-get", "install", "-q", "-y", "--no-install-recommends", "python3-venv")
    with_venv(target, version)


def has_venv():
    """Whether this python3 can make virtual environments with pip in them."""
    return importlib.util.find_spec("ensurepip") is not None


def place(target, content):
    """Write the program where `make` expects it."""
    program = target / "bin" / "uv"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_bytes(content)
    program.chmod(0o755)


def run(*command):
    """Run quietly; raise with the last line of what it printed when it fails."""
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        lines = done.stdout.decode(errors="replace").strip().splitlines() or ["no output"]
        raise OSError(lines[-1])


def install(target, version):
    """Try each way in turn; the exit code tells whether one worked."""
    failures = []
    for way in (with_venv, with_pip, with_apt):
        shutil.rmtree(str(target), ignore_errors=True)
        try:
            way(target, version)
        except (OSError, ValueError) as problem:
            failures.append("  %s: %s" % (way.__name__.replace("_", " "), problem))
            continue
        if version_of(target / "bin" / "uv"):
            return 0
        failures.append("  %s: the installed program does not run" % way.__name__)
    print("uv %s could not be installed:" % version, *failures, sep="\n", file=sys.stderr)
    print("Install python3-venv, pip or uv (0.9.17 or newer) and run make again.", file=sys.stderr)
    return 1


def main(arguments):
    """Do what the command line asks."""
    if arguments == ["--find"]:
        find()
        return 0
    if len(arguments) == 3 and arguments[0] == "--install":
        return install(Path(arguments[1]).absolute(), arguments[2])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
