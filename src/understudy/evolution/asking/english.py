"""How people ask for a skill in English."""

import re
from typing import Final

from understudy.evolution.asking.grammar import JOINT, SMILES, Grammar, joined, signs, words

# What a skill or some work is called or is for, before the word; with one of these it speaks of something else.
_TITLE: Final = (
    r"(?:(?!(?:of|for|about|to|in|into|on|with|from|by|at|as|and|or|than|that|which|what|how|the|an?|my"
    r"|your|our|his|her|their|its|this|these|those|each|every|any|all|no|if|is|are|me|us|it|skills?"
    r"|soft|hard|life|social|language)\b)[^ ,]+ ){1,5}"
)
_WORK: Final = (
    r"(?:process|work ?flow|procedure|task|steps?|approach|method|routine|work|job|recipe|solution"
    r"|sequence|way|pattern|playbook|run|session|conversation)"
)
_THING: Final = (
    r"(?:all (?:of )?)?(?:this|that|it|these|those|everything|the above"
    rf"|(?:this|that|the|these|those|our|your|my) (?:{_TITLE})?{_WORK}"
    r"(?: above|(?: that)? (?:you|we)(?: have| just|ve)? (?:took|taken|did|done|followed|used))?"
    r"|what (?:you|we)(?: have| just|ve)? (?:did|done)(?: here| just now)?)"
)
_BARE_THING: Final = r"(?:process|work ?flow|procedure|steps)"
_KIND: Final = (
    r"(?:(?:new|re ?usable|proper|small|good|permanent|separate|shared|private|little) ){0,3}"
)
_ONE: Final = rf"(?:(?:a|an|one|the|your|my|our|another) )?{_KIND}skill"
_SOME: Final = rf"{_ONE}s?"
_KEEP: Final = (
    r"(?:add|save|store|keep|record|capture|package|publish|register|preserve|remember|document"
    r"|(?:write|note)(?: down)?)"
)
# `do make it` is no question, as `do I want it` is.
_DO_IT: Final = r"(?:do )?"
_MAKE: Final = r"(?:create|make|write|build|generate|draft)(?: me| us)?"
_WANT: Final = r"(?:(?:i|we) (?:want|need|would like)|id like|wed like)"
# Nobody only wants one: they say which.
_WHICH: Final = r"(?:for|of|out of|from|that|which|called|named)\b"
_NAME: Final = rf"[^ ,]*{JOINT}"
# Behind `to`, something that is there already: `add a skill to my page`.
_THERE: Final = r"(?:an?|the|my|your|our|his|her|their|this|that|these|those|it|me|us|him|them)\b"
_DOING: Final = rf" to (?!{_THERE})"
_WHEN: Final = r"(?:if|unless|until|till|when|whenever|once|after|before)"
# What ends a description, and is about the wish again.
_BACK: Final = (
    r"but (?:ask|wait|let|show|check|first|only|later|do|dont|please|not (?:now|yet|today))"
    r"|or (?:skip|no|not|dont|rather)|(?:i|he|she|it|they) (?:said|says?|wrote|writes)"
    rf"|{_WHEN} (?:(?:you|we) (?:are|can|have)|youre|were|i (?:say|tell)|done|finished)"
    r"|(?:later|tomorrow|someday|eventually|next time|maybe|perhaps|instead)(?= ,|$)"
)
_BACK_OF_NAMES: Final = (
    rf"{_BACK}|(?:if|unless|but|not|never|cancel|later|tomorrow|someday|eventually|maybe|perhaps)"
    rf"|{_WHEN} (?:you|we|i|im|its?|this|that|all|everything|everyone|(?:the )?tests?)"
)
_VETOES: Final = (
    *("no", "not", "(?:do|does|did|is|was|wo|ca|should|would)nt", "cannot"),
    *("never", "nothing", "without", "neither", "nor", "or", "but", "instead"),
    *("if", "unless", "until", "till", "when", "whenever", "once", "after", "before"),
    *("(?<!for )later", "tomorrow", "someday", "eventually", "next time", "maybe", "perhaps"),
    *("might", "said", "says?", "wrote", "writes", "quote", "joke", "joking", "kidding", "cancel"),
    *("pretend", "imagine", "suppose", "hypothetical(?:ly)?", "example", "why", "how", "whether"),
    *("means?", "meaning", "wait", "stop", "skip", "forget (?:it|that)", "nevermind", "scratch that"),
    "call (?:it|this|that) (?:off|quits)",
)  # fmt: skip
# Of another kind of skill, wherever it is said.
_ELSEWHERE: Final = (
    *("resume", "cv", "linkedin", "game", "character", "player", "wizard", "quest"),
    r"to (?:my|the|our|his|her|their) (?:profile|portfolio|list|page|site|team|sheet|table)",
)
_ABOUT_ELSEWHERE: Final = rf"(?:{'|'.join(_ELSEWHERE)})\b"
# A sentence of its own, up to where it is taken back; behind a comma too.
_SAID: Final = rf"(?: (?!(?:{_BACK}|{_ABOUT_ELSEWHERE})\b)[^ ,]+)"
_CLAUSE: Final = (
    r"\b(?:(?<!of )(?<!for )(?<!from )(?<!with )(?<!using )(?<!on )that|which"
    rf"|to(?! {_THERE})|because|so (?:that|we|i|you|they|it|next|the|my|our|every\w*|nobody)"
    r"|(?:for|about|on|covering) (?:[^ ,]{2,}ing(?<!thing)|how|what|why|when|whenever|whether))\b"
    rf"{_SAID}+(?: ,(?!(?: [^ ,]+){{0,2}} (?:{'|'.join(_VETOES)})\b){_SAID}*)*"
)
_CALL_IT: Final = (
    r"(?:and|but)(?: please)? (?:call|name|title|keep|make) (?:it|this|that)(?! (?:off|quits)\b)"
)
_NOUN: Final = (
    rf"\b(?:called|named|titled|for|with|about|covering|on|{_CALL_IT})\b"
    rf"(?! {_THING}(?: |$))(?! {_ABOUT_ELSEWHERE}) [^ ,]+"
    rf"(?: (?!(?:{_BACK_OF_NAMES}|{_ABOUT_ELSEWHERE})\b)[^ ,]+)*"
)
# Work that somebody gives an agent to do; nothing that is told, asked or shown.
_DO: Final = (
    r"(?:tidy|clean|fix|run|do|finish|complete|build|deploy|sort|move|rename|update|upgrade|check|test"
    r"|write|prepare|set up|install|add|remove|refactor|repair|merge|organi[sz]e|collect|export|import"
    r"|publish|release|back up|archive|convert|improve|create|make|generate|read|analy[sz]e|summari[sz]e"
    r"|compare|compile|gather|download|process|review)"
)
ENGLISH: Final = Grammar(
    blank=" ",
    about=signs("skill"),
    leads=(
        *("please", "pls", "kindly", "ok", "okay", "alright", "right", "yes", "yeah", "yep", "sure"),
        *("great", "good", "nice", "perfect", "excellent", "cool", "awesome", "thanks", "thank you"),
        *(*joined("good|great|nice", "job|work|one"), "well done", "looks good", "all good", "hi", "hey"),
        *joined("that|this|it", "works|worked|works well|worked well|looks good|is good|is great|was great|was helpful|was useful"),
        *joined("use", "skill manage|the skill manage tool|your skill manage tool", "to"),
        *("hello", "works", "worked", "and", "now", "then", "so", "also", "just", "go ahead and", "lets", "let us"),
        *("i want to", "i want you to", "i need you to", *joined("you", "can|may|should")),
        *joined("id|i would", "like to|like you to"),
        *("sounds good", "sounds great", "i approve", "approved", "i agree", "agreed", "i accept"),
        *("yup", "of course", "absolutely", "definitely", "👍", "✅", "afterwards", "after that"),
        # When the work of this run is done; nothing that may fail to come.
        *joined("once|when", "done|finished"),
        *joined("once|when|after", "you finish|you are done|you are finished|youre done|youre finished"),
    ),
    tasks=(rf"{_DO}(?: [^ ,]+){{1,12}}(?: ,)? (?:and then|and|then)(?: also| please)?",),
    modals=(
        "(?:can|could) you(?: please| pls| kindly| help me)?",
        "(?:would|will) you (?:please|pls|kindly)",
    ),
    asks=(
        rf"{_DO_IT}{_KEEP} (?:(?:{_THING}|{_BARE_THING}) )?(?:down |up )?as {_SOME}",
        rf"{_DO_IT}(?:make|turn|convert|transform|change) {_THING} (?:in ?to )?{_SOME}",
        rf"(?:convert|transform) {_THING} to {_SOME}",
        rf"add {_THING} to (?:my|your|our|the) (?:skills|skill (?:library|collection))",
        rf"{_DO_IT}(?:{_MAKE}) {_ONE}",
        rf"{_DO_IT}(?:{_MAKE}) this {_KIND}skill",
        rf"(?:{_MAKE}) (?:a|an|one|the|your|my|our|another) {_TITLE}skill",
        # `make the skill read-only` is another wish.
        rf"(?:create|write|build|generate|draft|save)(?: me| us)? {_ONE} {_NAME}",
        rf"add (?:an?|another) {_KIND}(?:skill(?= {_WHICH}|{_DOING})|{_TITLE}skill|skill {_NAME})(?! to {_THERE})",
        rf"{_WANT} (?:an?|another) {_KIND}(?:{_TITLE})?skill(?= {_WHICH})",
        rf"{_WANT} {_THING} (?:saved |kept |stored )?as {_SOME}",
        rf"{_WANT} {_THING} to (?:be|become|be made|be (?:saved|kept|stored) as|be (?:turned|made) in ?to) {_ONE}",
        # What is saved somewhere is there already.
        rf"save {_ONE}(?! to\b)",
    ),
    connectors=(
        *("called", "named", "titled", "with", "from", "out of", "of", "for", "that", "which"),
        *("based on", "using", "so", "to", "and", "under", "about", "because", "covering"),
        *("on how", _CALL_IT),
    ),
    polite=(
        *("please", "pls", "thanks", "thank you", "and thanks", "and thank you", "now", "right away", "too", *joined("for", "me|us|later")),
        *SMILES,
    ),
    soft_questions=(),
    particles=(),
    definite=words(
        *("this", "that", "it", "these", "those", "called", "named", "what (?:you|we)"),
        *(r"skill for (?!me\b|us\b|you\b|later\b|now\b)[^ ,]+", rf"skill (?:which|to(?! {_THERE}))"),
        rf"(?:an?|the) (?!{_KIND}skill){_TITLE}skill",
        rf"(?:the|our) (?:{_TITLE})?{_WORK}",
    ),
    describes=re.compile(f"{_CLAUSE}|{_NOUN}"),
    vetoes=words(*_VETOES, *_ELSEWHERE),
    cancels=re.compile(
        r"(?:no|nope|nah|wait|actually|never ?mind|forget (?:it|that)|cancel|stop|hold on|skip"
        r"|on second thoughts?|(?:im |i am |i was )?(?:just |only )?(?:kidding|joking)|scratch that"
        r"|not (?:yet|now|really)|not(?! \w)|ignore|(?:please )?(?:dont|do not)"
        r" (?:do|save|create|make|keep|store|turn|bother|actually))\b"
    ),
)  # fmt: skip
