"""Which inputs ask for what is remembered."""

import time

import pytest

from tests.support.tables import every_row
from understudy.patterns.word_lists import read_toml
from understudy.retrieval.memory_request import asks_for_memory

MOST_PHRASES = 80
ASKS = """
What do you know about me?
Do you still remember my name?
Tell me everything you remember about the garden.
Use durable memory.
Refresh my memory: who is the caterer?
What did I tell you about my diet?
Remind me what we settled on for the menu.
Where were we?
Write the plan. But first look into your memory!
WHAT ARE MY PREFERENCES?
Avez-vous appris quelque chose ?
Bạn có nhớ tôi ở đâu không?
Sở thích của tôi là gì?
你还记得我对什么过敏吗？
关于我，你知道些什么？
"""
OTHERS = """
Find the memory leak in worker.py.
Remind me to call the plumber.
Can you remember that the port is 8080?
Make sure you remember to close the file.
Ignore what you remember of me and answer freshly.
Forget what you remember.
Which learning rate should I use?
Rename `your memory` to `store`.
Translate "do you remember me" into French.
Does the cache remember evicted keys?
We remembered the lantern.
Tìm chỗ rò rỉ bộ nhớ trong worker.py.
请记住，你记得的端口是8080
学习率该设多少？
"""


@every_row("text", ASKS.strip().splitlines())
def test_a_phrase_of_the_list_asks_for_memory(text: str) -> None:
    assert asks_for_memory(text)


@every_row("text", OTHERS.strip().splitlines())
def test_other_texts_with_such_words_do_not(text: str) -> None:
    assert not asks_for_memory(text)


def test_a_long_input_asks_in_its_beginning_or_at_its_end() -> None:
    filler = "The mill turns slowly. " * 300
    question = "What do you know about me? "
    assert asks_for_memory(question + filler)
    assert asks_for_memory(filler + question)
    assert not asks_for_memory(filler + question + filler)


def test_the_list_of_phrases_stays_short() -> None:
    lists = read_toml("understudy.retrieval", "memory_requests.toml")
    assert sum(map(len, lists.values())) <= MOST_PHRASES


@pytest.mark.parametrize("piece", ["you remember ", "`a", '"', "do you ", ". "])
def test_a_repetitive_input_is_read_in_time(piece: str) -> None:
    start = time.process_time()
    asks_for_memory(piece * 100_000)
    assert time.process_time() - start < 1
