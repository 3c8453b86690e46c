"""Copies of bundles: bounded, exact, and never taken away under somebody who reads them."""

import os
import threading
from pathlib import Path

import pytest

from understudy.core.errors import Unavailable
from understudy.skills.bundles.bundle import Bundle
from understudy.storage.skill_bundle_cache import BundleCache


def bundle(text: str, size: int = 0) -> Bundle:
    return Bundle({"SKILL.md": text.encode(), "data.bin": b"\0" * size})


def there(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def age(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


def test_those_that_nobody_used_for_longest_go(tmp_path: Path) -> None:
    cache = BundleCache(tmp_path, max_bundles=2)
    one, two, three = (bundle(text) for text in ("one", "two", "three"))
    age(cache.keep(one), 10)
    age(cache.keep(two), 20)
    # It is the newest again.
    assert cache.find(one.digest) is not None

    cache.keep(three)

    assert there(tmp_path) == {one.digest, three.digest}


def test_bytes_are_bounded_as_well(tmp_path: Path) -> None:
    cache = BundleCache(tmp_path, max_bytes=2_500)
    one, two, three = (bundle(text, 1_000) for text in ("one", "two", "three"))
    for seconds, each in enumerate((one, two)):
        age(cache.keep(each), seconds)

    cache.keep(three)

    assert there(tmp_path) == {two.digest, three.digest}


def test_a_sweep_removes_what_a_crash_left_and_what_is_too_much(tmp_path: Path) -> None:
    large = BundleCache(tmp_path)
    kept = [bundle(text) for text in ("one", "two", "three")]
    for seconds, each in enumerate(kept):
        age(large.keep(each), seconds)
    (tmp_path / (".tmp-" + "0" * 16)).mkdir()

    assert BundleCache(tmp_path, max_bundles=1).sweep() == 3
    assert there(tmp_path) == {kept[2].digest}
    assert BundleCache(tmp_path / "nowhere").sweep() == 0


def test_many_who_make_one_copy_never_replace_it(tmp_path: Path) -> None:
    cache = BundleCache(tmp_path)
    wanted = bundle("one")
    seen: set[int] = set()
    barrier = threading.Barrier(8)

    def keep() -> None:
        barrier.wait(10)
        seen.add(cache.keep(wanted).stat().st_ino)

    threads = [threading.Thread(target=keep) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(seen) == 1
    assert there(tmp_path) == {wanted.digest}


def test_a_copy_that_somebody_changed_is_replaced(tmp_path: Path) -> None:
    cache = BundleCache(tmp_path)
    wanted = bundle("one")
    (cache.keep(wanted) / "SKILL.md").write_text("changed")

    assert cache.find(wanted.digest) is None
    assert (cache.keep(wanted) / "SKILL.md").read_text() == "one"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(Unavailable):
        BundleCache(tmp_path / "file").keep(bundle("one"))
    assert BundleCache(tmp_path / "file").sweep() == 0
