"""Forms of one word that no rule derives: each line begins with the form that stands for all."""

from typing import Final

_IRREGULAR: Final = """
be was were is are am been being; become became; begin began begun; bend bent; bind bound
bite bit bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring brought
build built; burn burnt; buy bought; catch caught; choose chose chosen; cling clung; come came
creep crept; deal dealt; dig dug; do did done does doing; draw drew drawn; dream dreamt
drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt
fight fought; find found; flee fled; fly flew flown flies; forbid forbade forbidden
forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten
give gave given; go went gone goes going; grow grew grown; hang hung; have had has having
hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led
lean leant; leap leapt; learn learnt; leave left; lend lent; lie lain lying; light lit; lose lost
make made; mean meant; meet met; mistake mistook mistaken; overcome overcame; pay paid
prove proven; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen
seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot
show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid
speak spoke spoken; spend spent; spin spun; spring sprang sprung; stand stood
steal stole stolen; stick stuck; sting stung; strike struck stricken; swear swore sworn
sweep swept; swell swollen; swim swam swum; swing swung; take took taken; teach taught
tear tore torn; tell told; think thought; throw threw thrown; understand understood
undergo underwent undergone; undertake undertook undertaken; use using; wake woke woken
wear wore worn; weave wove woven; weep wept; win won; withdraw withdrew withdrawn
write wrote written; rewrite rewrote rewritten; rebuild rebuilt
child children; man men; woman women; person people; foot feet; tooth teeth; mouse mice
goose geese; wife wives; life lives; knife knives; leaf leaves; half halves; shelf shelves
wolf wolves; thief thieves; loaf loaves; datum data; criterion criteria; analysis analyses
crisis crises; hypothesis hypotheses; index indices; matrix matrices; phenomenon phenomena
good better best; bad worse worst; far further farther; die dying dies died; tie tying
"""
# Short and familiar forms: what people type for what documents say.
_SHORT: Final = """
mother mom mum mommy moms mums; father dad daddy dads; child kid kids; grandmother grandma
grandfather grandpa; picture pic pics photo photos photograph photographs; bicycle bike bikes
television tv; telephone phone phones; mathematics math maths; advertisement ad ads advert
database db dbs databases; configuration config configs; repository repo repos
environment env envs; production prod; directory dir dirs folder folders
application app apps; document doc docs; message msg msgs; authentication auth
administrator admin admins; parameter param params; argument arg args; package pkg pkgs
january jan; february feb; april apr; june jun; july jul; august aug; september sep sept
october oct; november nov; december dec
"""
_NUMBERS: Final = """
0 zero; 1 one first once; 2 two second twice; 3 three third; 4 four fourth; 5 five fifth
6 six sixth; 7 seven seventh; 8 eight eighth; 9 nine ninth; 10 ten tenth; 11 eleven eleventh
12 twelve twelfth; 13 thirteen; 14 fourteen; 15 fifteen; 16 sixteen; 17 seventeen
18 eighteen; 19 nineteen; 20 twenty; 30 thirty; 40 forty; 50 fifty; 60 sixty; 70 seventy
80 eighty; 90 ninety; 100 hundred; 1000 thousand
"""


def _by_form(table: str) -> dict[str, str]:
    lines = [line.split() for line in table.replace("\n", ";").split(";") if line.strip()]
    return {form: forms[0] for forms in lines for form in forms[1:]}


IRREGULAR: Final = _by_form(_IRREGULAR)
SHORT: Final = _by_form(_SHORT)
NUMBERS: Final = _by_form(_NUMBERS)
