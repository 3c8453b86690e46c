"""How long an unlearning takes among few and many learnings: preview, revocation and erasure.

    .venv/bin/python -m bench unlearn [--quick]

The whole daemon's services on a home of their own; the job is done on the spot, so the figures hold
every step: blast radius, retirement, erasure, scrub, receipt, and the emptied write-ahead log.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

from bench.learned_store import BATCH, learning
from bench.report import figure, heading
from understudy.core.principal import Principal, Role
from understudy.daemon.wiring import Daemon
from understudy.learnings.model import Learning
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.settings import Flags, load_settings
from understudy.unlearn.model import TargetKind, UnlearnMode, UnlearnStatus, UnlearnTarget

SIZES: Final = (1_000, 10_000, 100_000)
MOST_S: Final = 2.0
ADMIN: Final = Principal(user_id="bench", role=Role.ADMIN)
WORDS: Final = [f"word{number}" for number in range(20_000)]
PLANTED: Final = "The harbour of Quillon opens at dawn."


def main(*, quick: bool = False) -> bool:
    """Measure every size; tells whether the targets were met."""
    met, first = True, dict[str, float]()
    for size in SIZES[:2] if quick else SIZES:
        heading(f"Unlearning among {size:,} learnings (SQLite)")
        with tempfile.TemporaryDirectory() as made:
            for name, seconds in _measured(size, Path(made)):
                first.setdefault(name, seconds)
                met &= figure(name, seconds, "s", baseline=first[name], at_most=MOST_S)
    return met


def _measured(size: int, home: Path) -> Iterator[tuple[str, float]]:
    daemon = Daemon(load_settings(Flags(home=home), {}))
    daemon.migrate()
    _fill(daemon, size)
    service, duty = daemon.services.unlearn, daemon.services.unlearn_duty()
    for kind, id_ in (
        (TargetKind.LEARNING, "lrn_7"),
        (TargetKind.USER_TEXT, PLANTED),
    ):
        target = UnlearnTarget(kind=kind, id=id_)

        def preview(target: UnlearnTarget = target) -> None:
            assert service.preview(target).items

        def unlearn(target: UnlearnTarget = target, mode: UnlearnMode = UnlearnMode.ERASE) -> None:
            started = service.start(ADMIN, target, mode, None)
            assert duty.work(started.unlearn_id).status is UnlearnStatus.DONE

        yield f"preview of a {kind}", _seconds(preview)
        yield f"revocation of a {kind}", _seconds(lambda: unlearn(mode=UnlearnMode.REVOKE))
        yield f"erasure of a {kind}", _seconds(unlearn)
    daemon.resources.database.dispose()


def _fill(daemon: Daemon, size: int) -> None:
    learnings = _learnings(size)
    while some := list(islice(learnings, BATCH)):
        with daemon.resources.units.write() as unit:
            for each in some:
                unit.learnings.add(each)


def _learnings(size: int) -> Iterator[Learning]:
    chance = Random(7)
    for number in range(size):
        text = " ".join(chance.choices(WORDS, k=16))
        said = f"{PLANTED} {text}" if number == size // 2 else text
        yield learning(f"lrn_{number}", said, WORKSPACE, number)


def _seconds(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
