"""Others' memories, each asked in a process of its own: reads records, prints its figures as JSON.

Runs in an environment of its own, with nothing of ours: `versus.py` makes it and starts this file.
"""

import asyncio
import json
import logging
import os
import sys
import tempfile
import time
import uuid
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

BATCH = 500
DIMENSIONS = 256


class Mem0:
    """mem0ai with its local store on disk, a stub of an embedder, and no model: texts as they are."""

    def __init__(self, folder):
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")}
        from mem0 import Memory

        store = {"path": str(folder / "store"), "on_disk": True, "embedding_model_dims": DIMENSIONS}
        # Nobody is called: the embedder is replaced, and without inference the model is not asked.
        nobody = {"provider": "openai", "config": {"api_key": "none"}}
        config = {
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(folder / "history.db"),
            "llm": nobody,
            "embedder": nobody,
        }
        self._memory = Memory.from_config(config)
        self._memory.embedding_model = SimpleNamespace(embed=_embedded)

    def fill(self, texts):
        """Straight into its store, many at a time."""
        payloads = [{"data": text, "user_id": "u"} for text in texts]
        ids = [str(uuid.uuid4()) for _ in texts]
        self._memory.vector_store.insert(
            vectors=[_embedded(text) for text in texts], payloads=payloads, ids=ids
        )

    def add(self, text):
        """One, as anybody adds it."""
        self._memory.add(text, user_id="u", infer=False)

    def search(self, query):
        """The ten best."""
        found = self._memory.search(query, filters={"user_id": "u"}, top_k=10)
        return [each["memory"] for each in found["results"]]


class Hermes:
    """hermes-agent's sessions and their search."""

    def __init__(self, folder):
        os.environ["HERMES_HOME"] = str(folder)
        from hermes_state import SessionDB

        self._sessions = SessionDB(folder / "state.db")
        self._sessions.create_session("s", "cli")

    def fill(self, texts):
        """It has no way to add many."""
        for text in texts:
            self.add(text)

    def add(self, text):
        """One message."""
        self._sessions.append_message("s", "user", text)

    def search(self, query):
        """The ten best that hold any of the words."""
        found = self._sessions.search_messages(" OR ".join(query.split()), limit=10)
        return [each["snippet"].replace(">>>", "").replace("<<<", "") for each in found]


def _embedded(text, *_):
    """Words by their digests: what shares words is near."""
    vector = [0.0] * DIMENSIONS
    for word in text.split():
        vector[int.from_bytes(blake2b(word.encode(), digest_size=2).digest()) % DIMENSIONS] += 1.0
    length = sum(each * each for each in vector) ** 0.5 or 1.0
    return [each / length for each in vector]


def measure(contestant, records, queries, sizes, limit_s):
    """CPU milliseconds to add one and to search, at each size; stops after some seconds."""
    texts, there, began = iter(records), 0, time.monotonic()
    for size in sizes:
        while there < size and time.monotonic() - began < limit_s:
            batch = list(islice(texts, min(BATCH, size - there)))
            contestant.fill(batch)
            there += len(batch)
        figures = {"size": size, "there": there}
        if there == size:
            added = [_cpu_ms(contestant.add, each) for each in islice(texts, len(queries))]
            asked = [_cpu_ms(contestant.search, each) for each in queries]
            there += len(added)
            figures |= {"add": _median(added), "search": _median(asked)}
        print(json.dumps(figures), flush=True)


def _cpu_ms(act, *given):
    start = time.process_time()
    act(*given)
    return (time.process_time() - start) * 1000


def _median(values):
    return sorted(values)[len(values) // 2]


def run_loop(model_url, prompt, runs):
    """CPU seconds of a run by the bare loop of pydantic-ai."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=model_url, api_key="none")
    agent = Agent(OpenAIChatModel("fake", provider=provider), instructions="You are measured.")

    @agent.tool_plain
    def read_file(path: str) -> str:
        """Read a file."""
        return Path(path).read_text()

    async def measured():
        await agent.run(prompt)
        start = time.process_time()
        for _ in range(runs):
            await agent.run(prompt)
        return (time.process_time() - start) / runs

    os.chdir(tempfile.mkdtemp())
    Path("note.txt").write_text("hello\n")
    print(json.dumps({"cpu": asyncio.run(measured())}))


LOOP = "pydantic-ai"
CONTESTANTS = {"mem0ai": Mem0, "hermes-agent": Hermes}


def main():
    """`versus_others.py NAME LIMIT_S|MODEL_URL < {"records": …, "queries": …, "sizes": …}`."""
    logging.disable(logging.WARNING)
    name, limit_s = sys.argv[1:]
    given = json.load(sys.stdin)
    if name == LOOP:
        run_loop(limit_s, **given)
        return
    with tempfile.TemporaryDirectory() as folder:
        made = CONTESTANTS[name](Path(folder))
        measure(made, given["records"], given["queries"], given["sizes"], float(limit_s))


if __name__ == "__main__":
    main()
