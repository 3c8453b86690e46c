"""How much memory some processes use together."""

from collections.abc import Sequence

from understudy.tools.process_tree import PROC

# What a process has for itself, and what it shares by more than mapping the same file.
COUNTED = ("RssAnon", "RssShmem")
COUNTED_FAIRLY = ("Pss_Anon", "Pss_Shmem")
KIB = 1024


def memory_of(pids: Sequence[int], limit: int) -> int:
    """The bytes that some processes use; exact only where that is more than `limit`.

    What several share counts for each of them at first. Only when that is too much is it divided
    among them: finding out how costs the kernel a walk through all of their memory.
    """
    at_most = sum(map(_roughly, pids))
    return at_most if at_most <= limit else sum(map(_fairly, pids))


def _roughly(pid: int) -> int:
    return _sum(pid, "status", COUNTED) or 0


def _fairly(pid: int) -> int:
    found = _sum(pid, "smaps_rollup", COUNTED_FAIRLY)
    return _roughly(pid) if found is None else found


def _sum(pid: int, file: str, names: Sequence[str]) -> int | None:
    """None when the kernel does not tell all of them, or the process is gone."""
    try:
        lines = (PROC / str(pid) / file).read_text(errors="replace").splitlines()
    except OSError:
        return None
    # Lines begin with a word of the kernel's; only what follows may be the process's own.
    told = dict(line.split(":", 1) for line in lines if line.partition(":")[0] in names)
    if len(told) < len(names):
        return None
    return sum(int(value.split()[0]) for value in told.values()) * KIB
