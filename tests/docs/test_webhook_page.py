"""The receiver in the documents accepts what the daemon sends, and nothing else."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from understudy.deliveries.worker import headers

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "webhooks.md"
SECRET = "of-the-tests-" + "own-making"
BODY = b'{"run_id": "run_1"}'


@pytest.fixture
def is_ours() -> Callable[..., bool]:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    checks: Callable[..., bool] = names["is_ours"]
    return checks


def test_what_the_daemon_sends_is_accepted(is_ours: Callable[..., bool]) -> None:
    now = time.time_ns() // 1_000_000

    assert is_ours(SECRET, headers(SECRET, "dlv_1", now, BODY), BODY)


def test_what_is_forged_or_old_is_not(is_ours: Callable[..., bool]) -> None:
    now = time.time_ns() // 1_000_000
    old = now - 10 * 60 * 1000

    assert not is_ours(SECRET, headers("another", "dlv_1", now, BODY), BODY)
    assert not is_ours(SECRET, headers(SECRET, "dlv_1", now, BODY), BODY + b" ")
    assert not is_ours(SECRET, headers(SECRET, "dlv_1", old, BODY), BODY)
