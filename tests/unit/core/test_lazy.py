"""Modules that are imported when somebody first uses them."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import ModuleType

import pytest

from understudy.core.lazy import defer_module


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "deferred_driver"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import errors\nError = errors.Error\n")
    (folder / "errors.py").write_text("class Error(Exception): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("deferred_driver", "deferred_driver.errors"):
        # Put back afterwards.
        monkeypatch.setitem(sys.modules, name, sys)
        del sys.modules[name]
    return folder.name


def test_a_deferred_module_is_imported_when_one_of_its_names_is_used(package: str) -> None:
    defer_module(package, "errors")
    held = __import__(package)
    errors = __import__(package, fromlist=["errors"]).errors
    assert f"{package}.errors" not in sys.modules

    error = errors.Error
    assert held.Error is error is sys.modules[package].Error
    assert sys.modules[package] is not held


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_threads_that_first_use_a_deferred_module_at_once_get_the_same(package: str) -> None:
    together = Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(200):
            for name in (package, f"{package}.errors"):
                sys.modules.pop(name, None)
            defer_module(package, "errors")
            held = sys.modules[package]
            errors = held.errors

            def use(number: int, held: ModuleType = held, errors: ModuleType = errors) -> type:
                together.wait(60)
                return (held if number % 2 else errors).Error

            assert set(pool.map(use, range(8))) == {sys.modules[package].Error}


def test_a_module_that_is_there_already_is_not_deferred(package: str) -> None:
    real = __import__(package)
    defer_module(package)
    assert sys.modules[package] is real
    with pytest.raises(AttributeError):
        _ = real.no_such_name
