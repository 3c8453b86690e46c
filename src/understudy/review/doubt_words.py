"""Words that turn a sentence round, leave open whether it holds, or put it in somebody else's mouth."""

import re
from typing import Final

_ENGLISH: Final = """
no not never none neither nor or but cannot without nobody nothing nowhere noone false falsely wrong wrongly
untrue incorrect incorrectly mistaken mistakenly longer anymore formerly former ex previously old outdated
obsolete instead unless except until only if whether maybe perhaps probably possibly might would could suppose
supposed supposedly pretend pretends pretended imagine hypothetically hypothetical theoretically
lie lies lied lying liar liars hoax scam fake bogus nonsense myth fiction joke jokes joking kidding prank
deny denies denied denying refuse refuses refused refusing reject rejects rejected rejecting refute refutes
refuted dispute disputes disputed disagree disagrees contradict contradicts prevent prevents avoid avoids
stop stops stopped stopping cease ceases ceased drop drops dropped abandon abandons abandoned cancel cancels
cancelled canceled undo revert reverts reverted lost loses forget forgets forgot ignore ignores ignored
disregard disable hardly barely scarcely rarely seldom impossible unlikely improbable doubt doubts doubted
doubtful dubious unclear unknown unconfirmed unsure uncertain suspect suspects
claim claims claimed claiming allege alleges alleged allegedly purported purportedly rumor rumors rumour rumours
gossip say says said saying told tells tell telling assert asserts asserted insist insists insisted mention
mentions mentioned wrote writes written reports reported reportedly quote quotes quoted quoting according
think thinks thought believe believes believed guess guessed guesses assume assumes assumed argue argues argued
suggest suggests suggested heard hear hears replied replies wish wishes wished hope hopes hoped
isnt arent wasnt werent dont doesnt didnt wont cant couldnt shouldnt wouldnt aint
"""
_FRENCH: Final = """
ne pas jamais aucun aucune sans faux fausse si guère rarement impossible mensonge mensonges ment menteur nier
nie nient refuse refuser refusent rejeter rejette rejettent arrêter arrête arrêtent cesser cesse cessent
abandonner abandonne prétend prétendent prétendu prétendument affirme affirment dit disent disait selon ancien
ancienne anciennement autrefois jadis oublie oublier oubliez blague plaisante rumeur rumeurs doute croit pense
"""
_VIETNAMESE: Final = """
không chưa chẳng đừng chớ sai nếu dối xạo bịa chối giả cũ từng ngừng dừng bỏ quên hiếm đồn
"""
# Of several words, or joined by a hyphen.
_PHRASES: Final = (
    r"\bused to\b|\bno-one\b|\bpeut-être\b|\bsoi-disant\b|\bcho rằng\b|\bnói rằng\b|\bphủ nhận\b|\bnghe nói\b"
    r"|\bcó lẽ\b|\bhình như\b|\btrước đây\b|\bcó thể\b|\btheo lời\b"
)  # fmt: skip
# Chinese has no blanks, so these are looked for anywhere.
_CHINESE: Final = """
不 没 沒 未 非 别 別 无 無 勿 莫 否 吗 嗎 如果 也许 也許 可能 假 谎 謊 骗 騙 拒 停止 放弃 放棄 曾 以前 之前 旧 舊 前任
据说 據說 声称 聲稱 宣称 宣稱 据称 說 说 谣 謠 传闻 傳聞 忘 难以 難以 取消 原先
"""
# As keyboards write it, and full width.
_QUESTION_MARKS: Final = ("\\?", "\uff1f")

DOUBTS: Final = frozenset((_ENGLISH + _FRENCH + _VIETNAMESE).split())
DOUBT_SIGNS: Final = re.compile("|".join((_PHRASES, *_CHINESE.split(), *_QUESTION_MARKS)))
# Ways to ask for something to be kept in mind or to say it again, and no doubts.
REMINDERS: Final = re.compile(
    r"\bi(?:['’]ve| have)? (?:just )?(?:said|mentioned|told you|wrote)\b|\bje (?:l['’]ai )?dit\b|\btôi (?:đã )?nói\b|我[刚剛]?[说說]|"
    r"\b(?:do not|don['’]t|never) forget\b|\bn['’]oublie[rz]? pas\b|\bđừng quên\b|别忘了?|別忘了?|不要忘记?"
)

# A sentence with one of these is about what comes next ...
POINTS_ON: Final = re.compile(
    r"\b(?:following|follows?|below|next|this|these|here|suivante?s?|ci-dessous|ceci|voici|sau đây|dưới đây|điều này)\b"
    r"|以下|下面|如下|下列|[:\uff1a,\uff0c]\W*$|\b(?:that|que|rằng|dass)\W*$"
)  # fmt: skip
# ... and of these, about all that comes after.
POINTS_FAR_ON: Final = re.compile(
    r"\b(?:following|follows|below|suivante?s?|ci-dessous|sau đây|dưới đây)\b|以下|下面|如下|下列"
)
# A sentence that begins so is about what was said before it.
POINTS_BACK: Final = re.compile(
    r"\W*(?:(?:but|and|no|well|actually|sorry|mais|nhưng)\W+)*"
    r"(?:(?:all of )?(?:that|this|it|these|those|everything|none)\b|which\b|c['’]est\b|ce\b|cela\b|ça\b"
    r"|đó\b|điều (?:đó|này)\b|但?[这那這此以上])"
)
# A line that ends so goes on in the next.
RUNS_ON: Final = re.compile(
    r"\b(?:a|an|the|that|of|to|and|or|is|are|if|when|while|because|le|la|les|de|que|et|là|rằng|của|và)\s*$"
)
# A sentence of a word or two with one of these is about what stands next to it.
_DENYING: Final = """
false wrong untrue incorrect lie lies joke joking kidding fake nonsense hoax faux mensonge sai dối
"""
DENIALS: Final = frozenset(_DENYING.split())
