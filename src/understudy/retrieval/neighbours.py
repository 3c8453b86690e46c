"""Pieces of one conversation speak for each other: what a piece lacks, its neighbours may lend."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from understudy.retrieval.prepare import Prepared
from understudy.retrieval.tuning import Tuning

_DIGITS: Final = re.compile(r"(\d+)")


def conversations(prepared: Sequence[Prepared]) -> tuple[tuple[int, ...], ...]:
    """The positions of the pieces of each conversation, in the order in which they were said."""
    by_session: dict[str, list[int]] = defaultdict(list)
    for position, it in enumerate(prepared):
        if it.document.session is not None:
            by_session[it.document.session].append(position)
    return tuple(
        tuple(sorted(positions, key=lambda at: _order(prepared[at])))
        for _, positions in sorted(by_session.items())
        if len(positions) > 1
    )


def lend(held: Sequence[Mapping[int, float]], tuning: Tuning) -> list[dict[int, float]]:
    """For each piece what its neighbours hold more of than itself, clue by clue."""
    shares = [tuning.context_decay**step for step in range(tuning.context_reach)]
    lent: list[dict[int, float]] = [{} for _ in held]
    for at, own in enumerate(held):
        for step, share in enumerate(shares, 1):
            for near in (at - step, at + step):
                if own and 0 <= near < len(held):
                    _add(lent[near], own, share, held[near])
    return lent


def _add(
    lent: dict[int, float], near: Mapping[int, float], share: float, own: Mapping[int, float]
) -> None:
    for number, strength in near.items():
        more = strength * share - own.get(number, 0.0)
        if more > lent.get(number, 0.0):
            lent[number] = more


def _order(it: Prepared) -> tuple[int, list[tuple[int, int, str]]]:
    """By time, then by id, the numbers in it by their size."""
    parts = _DIGITS.split(it.document.id)
    return it.document.at_ms, [
        (0, int(part[:18]), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in parts
    ]
