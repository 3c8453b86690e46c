"""What the user's own words around a quote prove, and what they do not."""

import pytest

from understudy.learnings.proof import ProofLevel, ProofReason, prove, proven_words

VERIFIED, WEAK, NONE = ProofLevel
REQUEST = (
    "can u fix the login test? btw we always deploy from main on thursdays, the prod db is called"
    " orion - not vega, and my manager is Priya now"
)


@pytest.mark.parametrize(
    ("request_text", "quote", "content"),
    [
        (REQUEST, "we always deploy from main", "The team always deploys from main on Thursdays"),
        (REQUEST, "the prod db is called orion", "The prod db is called Orion"),
        (REQUEST, "my manager is Priya", "The user's manager is Priya"),
        ("im allergic to nuts, plan my week", "im allergic to nuts", "The user is allergic to nuts"),
        ("keep this in memory: my dog is called Bolt", "my dog is called Bolt", "My dog is called Bolt"),
        ("tôi ở Hà Nội, hôm nay mưa không?", "tôi ở Hà Nội", "Người dùng ở Hà Nội"),
        ("我对花生过敏 帮我安排菜单", "我对花生过敏", "用户对花生过敏"),
    ],
)  # fmt: skip
def test_a_clause_proves_a_candidate_with_all_of_its_words(
    request_text: str, quote: str, content: str
) -> None:
    assert prove(content, quote, request_text).level is VERIFIED


@pytest.mark.parametrize(
    ("request_text", "quote", "content", "reason"),
    [
        # Outside the quote, and inside the clause.
        ("i don't like long answers", "like long answers", "The user likes long answers",
         ProofReason.ADDED),
        ("the limit is 40 users", "the limit is 40 users", "The limit is 60 users",
         ProofReason.ADDED),
        ("we use Kafka", "we use Kafka", "The team uses Kafka at Bosch", ProofReason.ADDED),
        ("we branch from trunk", "we branch from trunk", "The team branches from main",
         ProofReason.REPLACED),
        ("should the timeout be 30 s", "the timeout be 30 s", "The timeout is 30 s",
         ProofReason.CLAUSE_IN_DOUBT),
        ("is the cluster in Rome?", "the cluster in Rome", "The cluster is in Rome",
         ProofReason.CLAUSE_IN_DOUBT),
        ("i prefer tabs. actually no, scratch that", "i prefer tabs", "The user prefers tabs",
         ProofReason.CLAUSE_IN_DOUBT),
        ("Decision: gRPC or REST?", "gRPC or REST?", "Decision: gRPC or REST?",
         ProofReason.CLAUSE_IN_DOUBT),
        ("决定：用 gRPC 还是 REST？", "用 gRPC 还是 REST？", "决定：用 gRPC 还是 REST？",
         ProofReason.CLAUSE_IN_DOUBT),
        ("my notes", "we use Kafka", "We use Kafka", ProofReason.QUOTE_NOT_FOUND),
        ("> we use Kafka\nReply.", "we use Kafka", "We use Kafka", ProofReason.QUOTE_NOT_FOUND),
        ("He wrote “we use Kafka a lot”.", "we use Kafka", "We use Kafka",
         ProofReason.QUOTE_NOT_FOUND),
        ("my notes", "...", "We use Kafka", ProofReason.QUOTE_NOT_FOUND),
    ],
)  # fmt: skip
def test_what_is_added_replaced_doubted_or_not_there_is_no_proof(
    request_text: str, quote: str, content: str, reason: ProofReason
) -> None:
    proof = prove(content, quote, request_text)
    assert (proof.level, proof.reason) == (NONE, reason)


@pytest.mark.parametrize(
    ("request_text", "quote", "content"),
    [
        ("we only deploy on fridays in emergencies", "deploy on fridays", "We deploy on Fridays"),
        ("my boss says the limit is 40", "the limit is 40", "The limit is 40"),
        ("Priya reports to Tom", "Priya reports to Tom", "Tom reports to Priya"),
        ("for charts use viridis", "use viridis", "Use viridis"),
    ],
)
def test_words_left_out_before_the_last_one_make_a_weak_proof(
    request_text: str, quote: str, content: str
) -> None:
    proof = prove(content, quote, request_text)
    assert (proof.level, proof.reason) == (WEAK, ProofReason.WORDS_LEFT_OUT)


def test_the_clause_around_the_quote_is_shown() -> None:
    proof = prove("The team deploys on Thursdays", "deploy from main on thursdays", REQUEST)
    assert proof.clause == "btw we always deploy from main on thursdays"


def test_the_clause_stands_for_a_candidate_that_it_proves_at_least_weakly() -> None:
    request = "for charts use viridis, and note that the limit is 40"
    assert proven_words("Use viridis", "use viridis", request) == "for charts use viridis"
    assert proven_words("The limit is 60", "the limit is 40", request) == "The limit is 60"
    assert proven_words("The limit is 40", None, request) == "The limit is 40"
