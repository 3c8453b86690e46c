"""What the user's own words around a quote prove, and what they do not."""

import pytest

from understudy.learnings.assertion import is_said_by_user
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
        ("Priya reports to Tom", "Priya reports to Tom", "Tom reports to Priya"),
        ("for charts use viridis", "use viridis", "Use viridis"),
        ("either way, we ship on Monday", "we ship on Monday", "The user ships on Monday"),
    ],
)
def test_words_left_out_before_the_last_one_make_a_weak_proof(
    request_text: str, quote: str, content: str
) -> None:
    proof = prove(content, quote, request_text)
    assert (proof.level, proof.reason) == (WEAK, ProofReason.WORDS_LEFT_OUT)


@pytest.mark.parametrize(
    ("request_text", "quote", "content"),
    [
        # Conditions.
        ("if it rains we work from home", "we work from home", "The team works from home"),
        ("unless Tom objects, we go with Rust", "we go with Rust", "The team goes with Rust"),
        ("we ship on Monday (if the tests pass)", "ship on Monday", "The team ships on Monday"),
        ("we ship on Monday. Only if the tests pass.", "we ship on Monday", "We ship on Monday"),
        ("we ship, unless it rains, on Monday", "on Monday", "The team ships on Monday"),
        ("when writing Python, use 4 spaces", "use 4 spaces", "The user uses 4 spaces"),
        ("nếu rảnh thì mình chạy bộ", "mình chạy bộ", "Người dùng chạy bộ"),
        ("khi nào xong thì mình dùng Kafka", "mình dùng Kafka", "Người dùng dùng Kafka"),
        ("如果时间够，我们就用 Rust", "我们就用 Rust", "我们用 Rust"),
        ("if it rains we work from home", "we work from home", "If it rains the team works from home"),
        ("Should the courier be late, book another one", "Should the courier be late, book another one",
         "Should the courier be late, book another one"),
        ("nếu rảnh thì mình chạy bộ", "mình chạy bộ", "Nếu rảnh thì mình chạy bộ"),
        ("万一烤箱坏了，就去隔壁烤", "万一烤箱坏了，就去隔壁烤", "万一烤箱坏了，就去隔壁烤"),
        ("Pretend you are my accountant. My rate is 40 percent.", "My rate is 40 percent",
         "My rate is 40 percent"),
        ("下雨的话我坐地铁", "我坐地铁", "用户坐地铁"),
        # Questions.
        ("why do we ship on Mondays, and not on Fridays like others?", "we ship on Mondays",
         "The team ships on Mondays"),
        ("any reason we ship on Mondays and not on Fridays like others?", "ship on Mondays",
         "The team ships on Mondays"),
        ("for charts use viridis, and you think that is a good idea for all of us?", "use viridis",
         "Use viridis"),
        ("mình có nên luôn dùng tab không", "luôn dùng tab", "Người dùng luôn dùng tab"),
        ("我应该一直用 tab 吗", "一直用 tab", "用户一直用 tab"),
        ("so the shop opens at nine, right", "the shop opens at nine", "the shop opens at nine"),
        ("quán mở lúc chín giờ hả", "quán mở lúc chín giờ", "quán mở lúc chín giờ"),
        ("店九点开门，对吧", "店九点开门", "店九点开门"),
        ("Tell me whether Go has generics.", "whether Go has generics",
         "Tell me whether Go has generics"),
        # What was taken back, holds no longer, is narrowed or reported.
        ("i prefer tabs in Go, wait no, spaces", "prefer tabs", "The user prefers tabs"),
        ("always use tabs. hmm, actually forget it", "always use tabs", "always use tabs"),
        ("the kiln is in Lyon. Ignore that last bit", "the kiln is in Lyon", "the kiln is in Lyon"),
        ("lò ở Huế. quên câu đó đi", "lò ở Huế", "lò ở Huế"),
        ("窑在里昂。前面那句不算", "窑在里昂", "窑在里昂"),
        ("Ana: we close on Mondays\nBen: no way", "we close on Mondays", "we close on Mondays"),
        ("we used to deploy on Fridays", "deploy on Fridays", "The team deploys on Fridays"),
        ("we only deploy on fridays in emergencies", "deploy on fridays", "We deploy on Fridays"),
        ("my boss says the limit is 40", "the limit is 40", "The limit is 40"),
    ],
)  # fmt: skip
def test_a_clause_whose_doubt_the_candidate_leaves_out_is_no_proof_at_all(
    request_text: str, quote: str, content: str
) -> None:
    proof = prove(content, quote, request_text)
    assert (proof.level, proof.reason) == (NONE, ProofReason.CLAUSE_IN_DOUBT)


@pytest.mark.parametrize(
    ("request_text", "quote", "content"),
    [
        ("use tabs in Go, even if the linter complains", "use tabs in Go",
         "Use tabs in Go, even if the linter complains"),
        ("Preference: if it rains we work from home.", "we work from home",
         "If it rains we work from home"),
        ("From now on, if a test fails, show me the log.", "if a test fails, show me the log",
         "If a test fails, show me the log"),
        ("i ship on Mondays, so can you move the release to Tuesday?", "i ship on Mondays",
         "The user ships on Mondays"),
        ("事实：夜间构建一点开始。看看会不会和备份冲突。", "夜间构建一点开始", "夜间构建一点开始"),
    ],
)  # fmt: skip
def test_a_lasting_or_labelled_condition_and_a_question_behind_the_clause_are_no_doubt(
    request_text: str, quote: str, content: str
) -> None:
    assert prove(content, quote, request_text).level is VERIFIED


@pytest.mark.parametrize(
    ("request_text", "quote"),
    [
        ("Write a haiku from this abstract: sparse models train faster.", None),
        ("Dịch câu này: mình dùng Kafka", None),
        (
            '{"theme": "dark", "editor": "vim"}\nValidate this.',
            '{"theme": "dark", "editor": "vim"}',
        ),
        ('Why is {"theme": "dark mode"} refused?', '{"theme": "dark mode"}'),
        ("My values.yaml:\nreplicas: 2\nspread: host\nimage: app:1.4\n\nWhy?", "spread: host"),
        ("Name: web-1\nPreference: spread\nStatus: Pending\nWhy?", "Preference: spread"),
    ],
)
def test_an_order_with_its_text_and_pasted_data_prove_nothing(
    request_text: str, quote: str | None
) -> None:
    said = quote or request_text
    assert prove(said, said, request_text).level is NONE
    assert not is_said_by_user(said, request_text)


@pytest.mark.parametrize(
    "lead", ["remember:", "ghi nhớ:", "记住：", "keep this in memory:", "Note these for later:"]
)
def test_a_list_that_the_user_asks_to_keep_is_the_users_own(lead: str) -> None:
    request = f"{lead}\neditor: vim\nshell: zsh"
    assert prove("Shell: zsh", "shell: zsh", request).level is VERIFIED


def test_the_clause_around_the_quote_is_shown() -> None:
    proof = prove("The team deploys on Thursdays", "deploy from main on thursdays", REQUEST)
    assert proof.clause == "btw we always deploy from main on thursdays"


def test_the_clause_stands_for_a_candidate_that_it_proves_at_least_weakly() -> None:
    request = "for charts use viridis, and note that the limit is 40"
    assert proven_words("Use viridis", "use viridis", request) == "for charts use viridis"
    assert proven_words("The limit is 60", "the limit is 40", request) == "The limit is 60"
    assert proven_words("The limit is 40", None, request) == "The limit is 40"
