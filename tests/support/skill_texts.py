"""What tests of skills write, send and get to see: texts, archives, calls and answers."""

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

ALL = "/v1/skills"
SHIPPED = "skill-creator"
MANIFEST = "SKILL.md"
# Commands are put together here, so that nobody takes this file for what it tests.
HARMFUL = "rm -" + "rf /"
NUMBERS = count(1)

Call = tuple[str, Mapping[str, Any]]


def skill_md(
    name: str, body: str = "Collect the numbers and write them down.", **fields: str
) -> str:
    """A small SKILL.md."""
    front = {"name": name, "description": f"Tells how to do {name}", **fields}
    lines = [f"{key}: {value}" for key, value in front.items()]
    return "\n".join(["---", *lines, "---", body, ""])


def companions(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Every file of a bundle but SKILL.md."""
    return {path: data for path, data in files.items() if path != MANIFEST}


def packed(files: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive of these files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def manage(action: str, **more: Any) -> Call:
    """A call of the tool that changes skills."""
    return ("skill_manage", {"action": action, **more})


class Result(str):
    """What a tool answered, and whether that was a refusal."""

    __slots__ = ("is_error",)
    is_error: bool


@dataclass(frozen=True, slots=True)
class Told:
    """What a run brought: the answers of its tools, and what the model was told at its begin."""

    results: list[Result]
    system: str
    tools: list[str]
    session_id: str
    run_id: str

    @property
    def result(self) -> Result:
        """The answer of the only tool."""
        [one] = self.results
        return one

    @property
    def refusals(self) -> list[Result]:
        """What the tools answered, none of which did anything."""
        assert all(result.is_error for result in self.results), self.results
        return self.results

    @property
    def answers(self) -> list[Result]:
        """What the tools answered, none of which was refused."""
        assert not any(result.is_error for result in self.results), self.results
        return self.results

    @property
    def offered(self) -> list[str]:
        """The skills that the system text lists, by slug."""
        return re.findall(r"<location>(.*?)</location>", self.system)
