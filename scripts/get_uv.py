"""Find a usable uv, or put one into a directory, with nothing but a bare python3.

`--find` prints the uv on PATH if it works and is new enough. `--install DIR VERSION` makes
DIR/bin/uv with the first of these that works: a virtual environment and its pip, pip alone, the
package index read directly. Runs on any python3 since 3.6, so it keeps to old syntax.
"""

import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
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


def with_index(target, version):
    """The wheel straight from the package index, when there is no pip at all."""
    index = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("PIP_INDEX_URL")
    url = (index or "https://pypi.org/simple").rstrip("/") + "/uv/"
    name = r"uv-%s-py3-none-%s\.whl" % (re.escape(version), platform_tag())
    link = re.search(r'href="([^"]*/%s)#sha256=([0-9a-f]{64})"' % name, fetch(url).decode())
    if not link:
        raise OSError("the index has no uv %s for %s" % (version, platform.machine()))
    wheel = fetch(urllib.parse.urljoin(url, link.group(1)))
    if hashlib.sha256(wheel).hexdigest() != link.group(2):
        raise OSError("the downloaded uv does not match its checksum")
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        program = next(name for name in archive.namelist() if name.endswith("/scripts/uv"))
        place(target, archive.read(program))


def platform_tag():
    """The part of a wheel's name that fits this machine, as a pattern."""
    machine = platform.machine().replace("AMD64", "x86_64")
    if sys.platform == "darwin":
        return r"macosx_\d+_\d+_%s" % machine
    libc = "manylinux" if platform.libc_ver()[0] == "glibc" else "musllinux"
    return r"(?:\w+\.)*%s\w*_%s(?:\.\w+)*" % (libc, machine)


def fetch(url):
    """The bytes at an https address."""
    request = urllib.request.Request(url, headers={"Accept": "text/html, */*"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


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
    for way in (with_venv, with_pip, with_index):
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
    print("Install uv yourself (any version since 0.9.17) and run make again.", file=sys.stderr)
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
