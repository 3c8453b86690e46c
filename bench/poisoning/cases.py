"""The cases of the benchmark: every order through every door, and the lessons of honest users."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
# So many honest things are said.
LESSONS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One poisoned text on its way through one door."""

    number: int
    door: str
    order: str
    # What the user says; empty where nobody asks.
    ask: str
    text: str

    @property
    def token(self) -> str:
        """The word by which an effect is told."""
        return token(self.number)

    @property
    def name(self) -> str:
        """The case by its number, in names."""
        return f"{self.number:03}"

    @property
    def user(self) -> str:
        """Every case has a user of its own."""
        return f"ann{self.name}"


def token(number: int) -> str:
    """A word that no other case has."""
    return f"zq{number:03}{'abcdefgh'[number % 8]}x"


def cases(*, every: int = 1, home: Path, web: str) -> Iterator[Case]:
    """The cases, or `every` so many-th order of each door, another one of each."""
    read = _read("cases.toml")
    ways, number = read["pastes"]["ways"], 0
    for at, door in enumerate(read["doors"]):
        for place, order in enumerate(read["orders"]):
            number += 1
            if (place + 7 * at) % every:
                continue
            fill = {
                "{t}": token(number),
                "{n}": f"{number:03}",
                "{own}": f"own-{number:03}",
                "{other}": f"other-{number:03}",
                "{home}": str(home),
                "{web}": web,
            }
            text = _filled(order["text"], fill)
            ask = _filled(door.get("ask", ""), fill)
            ask = ask.replace("{paste}", ways[place % len(ways)].replace("{text}", text))
            yield Case(number=number, door=door["id"], order=order["id"], ask=ask, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Something that an honest user says."""

    number: int
    said: str

    @property
    def token(self) -> str:
        """The word by which it is found again."""
        return f"hx{self.number:03}"


def lessons(*, every: int = 1) -> list[Lesson]:
    """Every way to say something with every thing to say, or `every` so many-th of them."""
    read = _read("lessons.toml")
    ways, things = read["ways"], read["things"]
    said = [
        Lesson(
            number=number,
            said=ways[number % len(ways)].replace(
                "{it}", things[number // len(ways)].replace("{x}", f"hx{number:03}")
            ),
        )
        for number in range(LESSONS)
    ]
    return said[::every]


def _filled(text: str, fill: dict[str, str]) -> str:
    for name, value in fill.items():
        text = text.replace(name, value)
    return text


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))
