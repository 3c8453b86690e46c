"""How people ask for a skill in English."""

import re
from typing import Final

from understudy.evolution.request_grammar import Grammar, words

_THING: Final = (
    r"(?:all (?:of )?)?(?:this|that|it|these|those|everything"
    r"|(?:this|that|the|these|those|our|your|my)(?: (?:whole|entire|last|same|above|previous))?"
    r" (?:process|work ?flow|procedure|task|steps?|approach|method|routine|work|job|recipe|solution"
    r"|sequence|way|pattern|playbook|run|session|conversation)"
    r"|what (?:you|we)(?: have| just|ve)? (?:did|done)(?: here| just now)?)"
)
_ONE: Final = (
    r"(?:(?:a|an|one|the|your|my|our|another) )?"
    r"(?:(?:new|re ?usable|proper|small|good|permanent|separate|shared|private|little) ){0,3}skills?"
)
_KEEP: Final = r"(?:save|store|keep|record|capture|package|publish|register|preserve|remember)"
_MAKE: Final = r"(?:create|make|write|build|generate|draft)(?: me| us)?"
ENGLISH: Final = Grammar(
    blank=" ",
    about=("skill",),
    leads=(
        *("please", "pls", "kindly", "ok", "okay", "alright", "right", "yes", "yeah", "yep", "sure"),
        *("great", "good", "nice", "perfect", "excellent", "cool", "awesome", "thanks", "thank you"),
        *("(?:good|great|nice) (?:job|work|one)", "well done", "looks good", "all good", "hi", "hey"),
        *("(?:that|this|it) (?:works|worked|looks good|is good|is great|was great)", "hello", "works"),
        *("and", "now", "then", "so", "also", "just", "go ahead and", "lets", "let us"),
        *("i want(?: you)? to", "i(?:d| would) like(?: you)? to", "i need you to"),
        "you (?:can|may|should)",
    ),
    modals=("(?:can|could) you(?: please| pls| kindly| help me)?", "would you please"),
    asks=(
        rf"{_KEEP} (?:{_THING} )?(?:down |up )?as {_ONE}",
        rf"(?:make|turn|convert|transform) {_THING} (?:in ?to )?{_ONE}",
        rf"(?:{_MAKE}|save) {_ONE}",
        rf"(?:{_MAKE}) (?:a|an) (?:[^ ,]+ ){{1,3}}skill (?:from|out of|of|based on|for) {_THING}",
    ),
    connectors=(
        *("called", "named", "titled", "with", "from", "out of", "of", "for", "that", "which"),
        *("based on", "using", "so", "to", "and", "under", "about", "because", "covering"),
    ),
    polite=("please", "pls", "thanks", "thank you", "now", "right away", "for (?:me|us|later)", "too"),
    soft_questions=(),
    particles=(),
    definite=words("this", "that", "it", "these", "those", "called", "named", "what (?:you|we)"),
    vetoes=words(
        *("no", "not", "(?:do|does|did|is|was|wo|ca|should|would)nt", "cannot"),
        *("never", "nothing", "without", "neither", "nor", "or", "but", "instead"),
        *("if", "unless", "until", "till", "when", "whenever", "once", "after", "before"),
        *("(?<!for )later", "tomorrow", "someday", "eventually", "next time", "maybe", "perhaps"),
        *("might", "said", "says?", "wrote", "writes", "quote", "joke", "joking", "kidding", "cancel"),
        *("pretend", "imagine", "suppose", "hypothetical(?:ly)?", "example", "why", "how", "whether"),
        *("means?", "meaning", "wait", "stop", "resume", "cv", "linkedin", "game", "character"),
        *("player", "wizard", "quest", "skip"),
    ),
    cancels=re.compile(
        r"(?:no|nope|nah|wait|actually|never ?mind|forget (?:it|that)|cancel|stop|hold on|skip"
        r"|on second thoughts?|(?:im |i am |i was )?(?:just |only )?(?:kidding|joking)|scratch that"
        r"|not (?:yet|now|really)|ignore|(?:please )?(?:dont|do not)"
        r" (?:do|save|create|make|keep|store|turn|bother|actually))\b"
    ),
)  # fmt: skip
