"""Pages that show a session with the commands: the files it needs, and each command with its output."""

import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from structlog.testing import capture_logs

from tests.api.live import Live, live_daemon
from tests.support.command_line_in_process import typed

DOCS = Path(__file__).parents[2] / "docs"
FILE = re.compile(r"`([\w-]+/[\w./-]+)`:\n\n```\w+\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
# A command with what it printed.
STEP = re.compile(r"^\$ (.+)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)
LOOP = re.compile(r"for (\w+) in ([\w ]+); do (.+); done")
VARIES = (
    (re.compile(r"\b\d+[smhd] ago|just now"), "AGO"),
    (re.compile(r"/\S*?/demo\b"), "DEMO"),
    (re.compile(r"\b\d+\.\d ?s\b"), "TIME"),
    (re.compile(r"[ ]+"), " "),
    (re.compile(r"[ ]\n"), "\n"),
)


@dataclass(frozen=True, slots=True)
class WorkedPage:
    """One worked example and the pages that continue it; `ids` match what differs each time."""

    name: str
    ids: re.Pattern[str]
    continued_by: tuple[str, ...] = ()
    folder: str = "howto"

    @property
    def text(self) -> str:
        folder = DOCS / self.folder
        return "\n".join((folder / name).read_text() for name in (self.name, *self.continued_by))

    @property
    def files(self) -> dict[str, str]:
        return dict(FILE.findall(self.text))

    @property
    def steps(self) -> list[tuple[str, str]]:
        return [step for block in BLOCK.findall(self.text) for step in STEP.findall(block)]

    @contextmanager
    def daemon(self, place: Path, *, model_at: str | None = None) -> Iterator[Live]:
        """The daemon that the page starts, with the page's files around it.

        Where the page has a model at this address, the fake model stands in for it.
        """
        for name, text in self.files.items():
            file = place / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        config = self.files.get("demo/config.toml", "")
        if model_at is not None:
            config = config.replace(model_at, "{url}")
        # The daemon in this process would print its log among what commands print.
        with (
            capture_logs(),
            live_daemon(place / "demo", config=config) as live,
        ):
            yield live

    def follow(self, live: Live, *, before: Callable[[str], object] = len) -> int:
        """Do what the page does, and see that it is told the same; how many steps there were.

        `before` is called with each command, for what a reader waits for.
        """
        environment = {"UNDERSTUDY_URL": str(live.client.base_url)}
        known: dict[str, str] = {}
        for command, printed in self.steps:
            before(command)
            line = self.ids.sub(lambda found: known[found[0]], command)
            told = "".join(_done(each, environment) for each in unrolled(line))
            shown = self._plain(printed)
            assert cut_like(self._plain(told), shown) == shown, command
            found = zip(self.ids.findall(printed), self.ids.findall(told), strict=True)
            known.update(found)
        return len(self.steps)

    def _plain(self, text: str) -> list[str]:
        """What does not vary from one time to the next, line by line."""
        for pattern, word in ((self.ids, "ID"), *VARIES):
            text = pattern.sub(word, text)
        return text.strip().splitlines()


def _done(line: str, environment: Mapping[str, str]) -> str:
    """What a command printed."""
    name, *words = shlex.split(line)
    if name == "touch":
        for word in words:
            Path(word).touch()
        return ""
    if name in {"cat", "sed"}:
        done = subprocess.run([name, *words], check=True, capture_output=True, text=True)
        return done.stdout
    assert name == "understudy"
    return typed(*words, env=environment).output


def unrolled(line: str) -> list[str]:
    """The commands of a line: one, or each of a loop."""
    loop = LOOP.fullmatch(line)
    if loop is None:
        return [line]
    variable, values, command = loop.groups()
    return [command.replace(f"${variable}", value) for value in values.split()]


def cut_like(told: Sequence[str], shown: Iterable[str]) -> list[str]:
    """What was told, as far as the page shows each line."""
    ends = [len(line) - 1 if line.endswith("…") else None for line in shown]
    return [
        line[:end] + ("" if end is None else "…") for line, end in zip(told, ends, strict=False)
    ] + list(told[len(ends) :])
