"""Words that a question is made of, and that no answer is about."""

import re
from typing import Final

_ENGLISH: Final = """
a about above after again all also am an and any are as at be because been before being between
both but by can could did do does doing done down during each etc exactly few for from further had
has have having he her here hers herself him himself his how i if in into is it its itself just may
me might mine more most must my myself no nor not now of off on once only or other ought our ours
out over own per please quite rather really reply same shall she should so some such than that the
their theirs them themselves then there these they this those though through to too under until up
upon us very was we were what whatever when where whether which while who whom whose why will with
would yet you your yours yourself
im ive ill youre dont doesnt didnt isnt arent wasnt werent cant wont
s t d ll re ve m don doesn didn isn aren wasn weren couldn shouldn wouldn hasn haven
tell know kind type sort many much long often according mention mentioned name named call called
say said use used
"""
_FRENCH: Final = "de des du et la le les maintenant ou pour quel quelle sont un une est avec"
# Written with their accents; without them they are other words of other languages.
_VIETNAMESE: Final = """
là gì của và các những một có được đã đang sẽ cho với trong ở tại từ đến khi nào bao nhiêu ai đâu
sao thế như này đó kia thì mà để về do bị bởi vì cũng ra vào lên trên dưới không rất nhất hay hoặc
nếu bằng theo việc sự hãy
"""
_CHINESE: Final = """
什么时候 什么 什麼 为什么 為什麼 为何 多少 多久 哪里 哪裡 哪儿 哪些 哪个 哪個 哪 谁 誰 何时 何時 怎么
怎麼 怎样 怎樣 如何 时候 几 幾 是 的 了 吗 嗎 呢 有 在 和 与 與 被 由 把 将 对 及 或 于 之 其 这 那 该
位于 请问 以及 也 就 都 而 从 為 为 以
"""

# In Vietnamese `do` and `ai` are also English words, so those are left to rarity.
STOP_WORDS: Final = frozenset((_ENGLISH + _FRENCH).split())
ACCENTED_STOP_WORDS: Final = frozenset(_VIETNAMESE.split()) - {"do", "ai", "hay", "theo", "cho"}
# Chinese has no blanks: these cut a question into the pieces that matter, the longest first.
BETWEEN_CHINESE: Final = re.compile(
    "|".join(sorted(_CHINESE.split(), key=lambda word: (-len(word), word)))
)
