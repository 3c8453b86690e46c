"""Pairs of letters that words are made of; they cover nineteen in twenty pairs of prose and code."""

from typing import Final

_PAIRS: Final = """
ab ac ad af ag ai ak al am an ap ar as at au av aw ax ay ba bc be bi bj bl bo br bs bu by ca
cc ce ch ci ck cl cm co cp cr cs ct cu cy da db dd de df di dl do dr ds dt du ea eb ec ed ee
ef eg ei ek el em en eo ep eq er es et eu ev ew ex ey fa fd fe ff fi fl fo fr fs ft fu fy ga
ge gg gh gi gl gn go gr gs gu ha he hi ho hr ht hu ia ib ic id ie if ig il im in io ip ir is
it iv ix iz je ju ka ke ki kl ks la lc ld le lf li ll lo lp ls lt lu lv ly ma mb md me mi ml
mm mo mp ms mt mu na nc nd ne nf ng ni nk nl nn no np nr ns nt nu nv ny oa ob oc od of og oi
ok ol om on oo op or os ot ou ov ow pa pc pd pe ph pi pl po pp pr ps pt pu py qu ra rc rd re
rf rg ri rk rl rm rn ro rp rr rs rt ru rv ry sa sc sd se sf sh si sk sl sm sn so sp ss st su
sw sy ta tc td te tf th ti tl tm tn to tp tr ts tt tu tw ty ua ub uc ud ue uf ug ui ul um un
up ur us ut va ve vi vo wa we wh wi wn wo wr ws xc xe xi xp xt ye yi yl ym yn yp ys yt ze zi
"""
COMMON: Final = frozenset(_PAIRS.split())
