"""How to call this program in a terminal: its name or path, and the address of a daemon."""

import shutil
import sys
from pathlib import Path

from understudy.settings.client import DEFAULT_BIND


def program_name(argument: str) -> str:
    """The command to call this program: its name where that is on the PATH, else its path."""
    if shutil.which("understudy"):
        return "understudy"
    path = Path(argument).absolute()
    if path.name != "understudy":
        path = Path(sys.executable).with_name("understudy")
    if not path.exists():
        return f"{sys.executable} -m understudy.cli.main"
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def path_line(program: str) -> str | None:
    """The shell line after which the name alone calls this program; None where it does already."""
    path = Path(program).absolute()
    if program == "understudy" or path.name != "understudy":
        return None
    return f'export PATH="{path.parent}:$PATH"'


def url_option(url: str) -> str:
    """The option that names a daemon, after a blank; nothing for the default one."""
    return "" if url == f"http://{DEFAULT_BIND}" else f" --url {url}"
