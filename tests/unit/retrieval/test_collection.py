"""A collection in memory ranks a scope as `rank` ranks its documents."""

from understudy.retrieval.collection import Collection
from understudy.retrieval.documents import Document, Field
from understudy.retrieval.score import rank


def make(number: int, text: str, *, session: str | None = None) -> Document:
    return Document(id=f"d{number}", fields=(Field(name="text", text=text),), session=session)


TEXTS = ("atlas deploy", "banana bread", "the deploy failed", "yes, indeed", "gateway atlas")


def test_only_its_own_scope_is_searched() -> None:
    collection = Collection([("a", make(0, "atlas")), ("b", make(1, "atlas"))])

    assert [it.id for it in collection.search("atlas", "b")] == ["d1"]
    assert collection.search("atlas", "nowhere") == ()


def test_it_ranks_as_everything_together_would() -> None:
    documents = [make(n, text, session=f"s{n // 2}") for n, text in enumerate(TEXTS)]
    collection = Collection([("a", it) for it in documents])
    found = [it for it in collection.search("atlas deploy", "a") if it.score > 0]
    ranked = rank("atlas deploy", documents, statistics=collection)

    assert found == [it for it in ranked if it.score > 0]


def test_what_is_common_is_counted_over_all_scopes() -> None:
    collection = Collection([("a", make(0, "atlas atlas")), ("b", make(1, "atlas banana"))])

    assert collection.documents == 2
    assert collection.frequency("atla") == 2
    assert collection.average_length == 1.5
