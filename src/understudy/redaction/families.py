"""Tokens that their vendor made to be known by their beginning: a table of prefixes and bodies.

Written from the vendors' own descriptions. A body is checked for being a real one, so `ghp_xxxx`
and `hf_hub_download` stay. Examples are joined from parts, so that no scanner takes this file for
a leak.
"""

import re
from collections.abc import Iterable
from typing import Final

from understudy.redaction.opaque import is_made_up, is_opaque_enough, is_placeholder, looks_random
from understudy.redaction.rule import Match, Rule, Span

# One character of a body.
_ANY: Final = r"[A-Za-z0-9_-]"
_ALNUM: Final = r"[A-Za-z0-9]"
_HEX: Final = r"[0-9a-f]"
_DOTTED: Final = r"[A-Za-z0-9_.-]"
_BASE64: Final = r"[A-Za-z0-9_+/=-]"
# What may stand before a token: nothing that could belong to it. `\b` is ASCII's in RE2, so it
# also holds between a Chinese character and a letter.
_START: Final = r"(?:\b|_|%2[0-9A-F]|\\[nrt])"
_FIRST: Final = re.compile(r"(\[[^\]]+\]|\\w)(?:\{(\d+)|\+)")
_ELLIPSIS: Final = re.compile(r"\.\.\.|…|\*\*\*")
# One word alone is nobody's blank to fill in: `sk-proj-abc` is a poor key, and yet one.
_WORDS_ONLY: Final = re.compile(r"[a-z]+(?:[_-][a-z]+)+|[A-Z]{1,12}(?:[_-][A-Z]+)*")


def is_real(body: str) -> bool:
    """Whether a body behind a telling prefix is a value and not a word or a blank to fill in."""
    if is_placeholder(body) or not body.strip("_-."):
        return False
    if len(body) < 24 and is_made_up(body):
        return False
    return _WORDS_ONLY.fullmatch(body) is None or len(body) > 40


def _telling(match: Match) -> Iterable[Span]:
    # `sk-ant-api03-...` shows how a key begins and holds none.
    if len(match["body"]) < 8 and _ELLIPSIS.match(match.string, match.span()[1]):
        return ()
    return (match.span("secret"),) if is_real(match["body"]) else ()


def _random(match: Match) -> Iterable[Span]:
    body = match["body"]
    return (match.span("secret"),) if is_real(body) and looks_random(body) else ()


def _strictly(match: Match) -> Iterable[Span]:
    """Also what only looks like an example: `AKIA…EXAMPLE` may be one, and need not be kept."""
    body = match["body"]
    return (match.span("secret"),) if len(body) >= 16 and is_opaque_enough(body) else ()


def _strictly_random(match: Match) -> Iterable[Span]:
    return _strictly(match) if any(map(str.isdigit, match["body"])) else ()


def _beginning(body: str) -> str:
    """The first characters of a body, so that a short prefix alone calls no rule."""
    first = _FIRST.match(body)
    return f"{first[1]}{{{min(int(first[2] or 1), 8)}}}" if first else ""


def _family(
    rule_id: str,
    prefix: str,
    body: str,
    example: tuple[str, str],
    *,
    faint: bool = False,
    trigger: str | None = None,
) -> Rule:
    """A family; a `faint` prefix is also an ordinary beginning, so its body must look random."""
    begin, rest = example
    return Rule(
        id=rule_id,
        kind="api-key",
        trigger=trigger or rf"(?:{prefix}){_beginning(body)}",
        pattern=rf"{_START}(?P<secret>(?:{prefix})(?P<body>{body}))",
        pick=_random if faint else _telling,
        strict=_strictly_random if faint else _strictly,
        matches=(begin + rest, f"use {begin}{rest}, then stop", f"把密钥改成{begin}{rest}之后"),
        misses=(f"{begin}...", begin + "x" * 24, f"{begin}your-token-here"),
    )


_MIX: Final = "a1B2c3D4" * 5
_LOW: Final = "a1b2c3d4" * 8

FAMILIES: Final = (
    _family("anthropic", "sk-ant-", _ANY + "+", ("sk-" + "ant-", "x1")),
    _family("openai", "sk-(?:proj|svcacct|admin|None)-", _ANY + "+", ("sk-" + "proj-", _MIX)),
    _family("openrouter", "sk-or-", _ANY + "+", ("sk-" + "or-", "v1-" + _LOW)),
    _family("openai-legacy", "sk-", _ANY + "{16,}", ("sk-", _MIX), faint=True),
    _family("github", "gh[pousr]_|github_pat_", r"\w+", ("ghp" + "_", "1234567890")),
    _family(
        "gitlab",
        "gl(?:pat|dt|rt|rtr|ptt|ft|imt|agent|oas|soat|ffct|cbt|wt)-",
        _DOTTED + "{8,}",
        ("glpat" + "-", _MIX[:20]),
    ),
    _family("gitlab-runner", "GR1348941", _ANY + "{12,}", ("GR" + "1348941", _MIX[:20])),
    _family("slack", r"xox[a-z](?:\.xox[a-z])?-|xapp-", _ANY + "+", ("xoxb" + "-", "1-2")),
    _family(
        "aws-key-id",
        "A(?:KIA|SIA|BIA|CCA|ROA|IDA)",
        "[A-Z0-9]{12,}",
        ("AKI" + "A", "ABCDEFGHIJKLMNOP"),
    ),
    _family("aws-bedrock", "ABSK|bedrock-api-key-", _BASE64 + "{20,}", ("ABS" + "K", _MIX)),
    _family("google", "AIza", _ANY + "{16,}", ("AI" + "za", "Sy" + _MIX[:33])),
    _family("google-oauth", r"ya29\.|GOCSPX-|1//0", _DOTTED + "{16,}", ("ya" + "29.", _MIX)),
    _family("stripe", "[sr]k_(?:live|test)_|rkcs_", r"\w{4,}", ("sk_" + "live_", _MIX[:24])),
    _family("webhook-secret", "whsec_|whpk_", _BASE64 + "{8,}", ("whsec" + "_", _MIX)),
    _family("huggingface", "hf_|api_org_", _ALNUM + "{16,}", ("hf" + "_", _MIX[:34])),
    _family("npm", "npm_", _ALNUM + "{16,}", ("npm" + "_", _MIX[:36]), faint=True),
    _family("pypi", "pypi-Ag", _ANY + "{8,}", ("pypi" + "-Ag", "EIcHlwaS5vcmc" + _MIX)),
    _family("rubygems", "rubygems_", _HEX + "{16,}", ("rubygems" + "_", _LOW[:48])),
    _family("docker", "dckr_(?:pat|oat)_", _ANY + "{8,}", ("dckr" + "_pat_", _MIX[:27])),
    _family("crates", "cio", _ALNUM + r"{32}\b", ("ci" + "o", _MIX[:32]), faint=True),
    _family("nuget", "oy2", r"[a-z0-9]{43}\b", ("oy" + "2", _LOW[:43]), faint=True),
    _family("clojars", "CLOJARS_", "[a-z0-9]{40,}", ("CLOJARS" + "_", _LOW[:60])),
    _family("jfrog", "AKCp[0-9a-z]|cmVmdGtu", _ALNUM + "{20,}", ("AKC" + "p8", _MIX), faint=True),
    _family("groq", "gsk_", _ALNUM + "{16,}", ("gs" + "k_", _MIX), faint=True),
    _family("xai", "xai-", _ALNUM + "{16,}", ("xa" + "i-", _MIX), faint=True),
    _family("perplexity", "pplx-", _ALNUM + "{16,}", ("pplx" + "-", _MIX), faint=True),
    _family("replicate", "r8_", _ALNUM + "{16,}", ("r8" + "_", _MIX), faint=True),
    _family("fireworks", "fw_|fpk_", _ALNUM + "{16,}", ("fw" + "_", _MIX[:24]), faint=True),
    _family("cerebras", "csk-", _ALNUM + "{16,}", ("cs" + "k-", _LOW[:48]), faint=True),
    _family("nvidia", "nvapi-", _ANY + "{16,}", ("nvapi" + "-", _MIX)),
    _family("langchain", "lsv2_(?:pt|sk)_|ls__", r"\w{16,}", ("lsv2" + "_pt_", _LOW[:32])),
    _family("langfuse", "sk-lf-|pk-lf-", _ANY + "{16,}", ("sk" + "-lf-", _LOW[:36])),
    _family("together", "tgp_v1_", _ANY + "{16,}", ("tgp" + "_v1_", _MIX)),
    _family("tavily", "tvly-", _ANY + "{12,}", ("tvly" + "-", _MIX), faint=True),
    _family("firecrawl", "fc-", _HEX + r"{32}\b", ("f" + "c-", _LOW[:32]), faint=True),
    _family("pinecone", "pcsk_", r"\w{20,}", ("pcsk" + "_", _MIX)),
    _family("voyage-jina", "pa-|jina_", _ANY + "{32,}", ("jina" + "_", _MIX), faint=True),
    _family("elevenlabs", "sk_|xi_", _HEX + "{32,}", ("s" + "k_", _LOW[:48]), faint=True),
    _family("digitalocean", "do[oprs]_v1_", _HEX + "{16,}", ("dop" + "_v1_", _LOW)),
    _family("heroku", "HRKU-", _ANY + "{20,}", ("HRKU" + "-", "AA" + _MIX)),
    _family("netlify", "nf[pcobu]_|nfu_", _ALNUM + "{20,}", ("nfp" + "_", _MIX), faint=True),
    _family("vercel", "vc[pkiars]_|vercel_blob_rw_|blob_rw_", r"\w{20,}", ("vcp" + "_", _MIX), faint=True),
    _family("cloudflare", r"v1\.0-", "[a-z0-9-]{32,}", ("v1" + ".0-", _LOW), faint=True),
    _family("cloudflare-named", "cf(?:at|ut|k)_", _ANY + "{20,}", ("cfut" + "_", _MIX), faint=True),
    _family("fly", "fm[12][ar]?_|FlyV1 |fo1_", r"[A-Za-z0-9_+/=,-]{20,}", ("fm2" + "_", _MIX)),
    _family("render", "rnd_", _ALNUM + "{16,}", ("rn" + "d_", _MIX), faint=True),
    _family("scaleway", "SCW", r"[A-Z0-9]{17}\b", ("SC" + "W", "A1B2C3D4E5F6G7H8J"), faint=True),
    _family("alibaba", "LTAI|STS\\.N", _ALNUM + "{12,}", ("LTA" + "I", "5t" + _MIX[:20]), faint=True),
    _family("tencent", "AKID", _ALNUM + "{28,}", ("AKI" + "D", _MIX), faint=True),
    _family("volcengine", "AKLT", _ALNUM + "{20,}", ("AKL" + "T", _MIX), faint=True),
    _family("yandex", "AQVN|t1\\.[A-Za-z0-9_-]|y0_|YC", _ANY + "{34,}", ("AQV" + "N", _MIX), faint=True),
    _family("shopify", "shp(?:at|ca|pa|ss|ua|tka)_|shpoat_", _ALNUM + "{8,}", ("shpat" + "_", _LOW[:32])),
    _family("square", "EAAA|sq0[a-z]{3}-|sandbox-sq0[a-z]{3}-", _ANY + "{20,}", ("sq0" + "csp-", _MIX), faint=True),
    _family("facebook", "EAA[A-Za-z]|IGQ[VW]|IGAA", _ALNUM + "{40,}", ("EAA" + "B", _MIX + _MIX), faint=True),
    _family("paypal", "access_token\\$(?:production|sandbox)\\$", r"[a-z0-9$]{16,}", ("access_token" + "$production$", _LOW)),
    _family("plaid", "access-(?:sandbox|development|production)-", "[0-9a-f-]{32,}", ("access" + "-sandbox-", _LOW)),
    _family("adyen", "AQE[a-z]hm", _BASE64 + "{30,}", ("AQE" + "yhm", _MIX)),
    _family("razorpay", "rzp_(?:live|test)_", _ALNUM + "{8,}", ("rzp_" + "live_", _MIX[:14])),
    _family("paystack", "(?:sk|pk)_(?:live|test)_|FLWSECK(?:_TEST)?-", _ANY + "{8,}", ("FLWSECK" + "-", _MIX[:32])),
    _family("mercadopago", "(?:APP_USR|TEST)-", "[0-9a-f-]{40,}", ("APP_USR" + "-", _LOW), faint=True),
    _family("linear", "lin_(?:api|oauth|wh)_", _ALNUM + "{8,}", ("lin" + "_api_", _MIX)),
    _family("notion", "ntn_|secret_", _ALNUM + "{32,}", ("nt" + "n_", _MIX), faint=True),
    _family("figma", "fig[duor]_", _ANY + "{16,}", ("fig" + "d_", _MIX), faint=True),
    _family("airtable", r"pat[A-Za-z0-9]{14}\.", _HEX + "{16,}", ("pat" + "a1B2c3D4a1B2c3.", _LOW)),
    _family("airtable-legacy", "key", _ALNUM + r"{14}\b", ("ke" + "y", "a1B2c3D4a1B2c3"), faint=True),
    _family("clickup", "pk_[0-9]{5,9}_", "[A-Z0-9]{24,}", ("pk_" + "1234567_", "A1B2C3D4" * 4)),
    _family("trello", "ATTA|ATCTT3", _BASE64 + "{40,}", ("ATT" + "A", _MIX + _MIX), faint=True),
    _family("atlassian", "ATATT3|ATBB|ATCTT|ATOAT|ATSTT", _BASE64 + "{8,}", ("ATATT" + "3", "xFfGF0" + _MIX)),
    _family("bitbucket", "BBDC-", _BASE64 + "{20,}", ("BBD" + "C-", _MIX), faint=True),
    _family("databricks", "dapi|dkea|dose", _HEX + "{16,}", ("dap" + "i", _LOW[:32])),
    _family("vault", r"hv[bsr]\.", _ANY + "{8,}", ("hv" + "s.", _MIX)),
    _family("vault-legacy", r"[sb]\.", _ALNUM + "{24,}", ("s" + ".", _MIX[:24]), faint=True),
    _family("doppler", r"dp\.(?:pt|st|ct|sa|scim|audit|said)\.", _DOTTED + "{16,}", ("dp" + ".pt.", _MIX)),
    _family("onepassword", "ops_eyJ|A3-[A-Z0-9]{6}-", _BASE64 + "{20,}", ("ops" + "_eyJ", _MIX + _MIX)),
    _family("infisical", r"st\.[0-9a-f]{20,}\.", _DOTTED + "{16,}", ("st" + "." + _LOW[:24] + ".", _LOW), trigger=r"\bst\.[0-9a-f]{8}"),
    _family("pulumi", "pul-", _HEX + "{16,}", ("pu" + "l-", _LOW[:40])),
    _family("terraform", r"[A-Za-z0-9]{14}\.atlasv1\.", _ANY + "{16,}", ("a1B2c3D4a1B2c3." + "atlasv1.", _MIX), trigger="atlasv1"),
    _family("newrelic", "NRAK-|NRJS-|NRII-|NRRA-|NRAA-|NRIQ-|eu01xx", _ANY + "{16,}", ("NRA" + "K-", "A1B2C3D4" * 4)),
    _family("sentry", "sntry[su]_", r"[A-Za-z0-9_=+/-]{16,}", ("sntry" + "s_", _MIX)),
    _family("grafana", "glsa_|glc_", r"[A-Za-z0-9_=+/-]{16,}", ("gls" + "a_", _MIX)),
    _family("grafana-legacy", "eyJrIjoi", _BASE64 + "{20,}", ("eyJr" + "Ijoi", _MIX)),
    _family("dynatrace", r"dt0[a-z][0-9]{2}\.", r"[A-Z0-9]{8,}\.[A-Z0-9]{8,}", ("dt0" + "c01.", "A1B2C3D4" * 3 + "." + "A1B2C3D4" * 8)),
    _family("posthog", "ph[cxs]_", _ALNUM + "{20,}", ("ph" + "x_", _MIX), faint=True),
    _family("supabase", "sbp_|sb_secret_|sbp_oauth_", r"\w{16,}", ("sb" + "p_", _LOW[:40])),
    _family("planetscale", "pscale_(?:tkn|pw|oauth)_", _DOTTED + "{16,}", ("pscale" + "_tkn_", _MIX)),
    _family("neon", "napi_", _ALNUM + "{20,}", ("nap" + "i_", _LOW), faint=True),
    _family("prefect", "pn[bu]_", _ALNUM + "{20,}", ("pn" + "u_", _MIX), faint=True),
    _family("postman", "PMA[KT]-", "[0-9a-zA-Z-]{24,}", ("PMA" + "K-", _LOW)),
    _family("rapidapi", "[0-9a-f]{10}msh", _ALNUM + "{16,}", ("a1b2c3d4e5" + "msh", _LOW[:20]), trigger="msh"),
    _family("sendgrid", r"SG\.", r"[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", ("S" + "G.", _MIX[:22] + "." + _MIX)),
    _family("sendinblue", "xkeysib-|xsmtpsib-", _ANY + "{16,}", ("xkeysib" + "-", _LOW)),
    _family("resend", "re_", r"\w{20,}", ("re" + "_", _MIX[:8] + "_" + _MIX[:24]), faint=True),
    _family("mailgun", "(?:key|pubkey|api)-", _HEX + "{32,}(?:-[0-9a-f]{8}-[0-9a-f]{8})?", ("ke" + "y-", _LOW[:32]), faint=True),
    _family("mailchimp", "[0-9a-f]{32}", r"-us[0-9]{1,2}\b", (_LOW[:32], "-us12"), trigger="-us[0-9]"),
    _family("mailersend", r"mlsn\.", _HEX + "{24,}", ("mls" + "n.", _LOW)),
    _family("klaviyo-hubspot", "pk_|pat-(?:na|eu|ap)[0-9]-|CJ", r"[0-9a-f]{8}-?[0-9a-f-]{24,}", ("pat" + "-na1-", _LOW[:8] + "-" + _LOW[:27])),
    _family("intercom-segment", "dG9rO|sgp_", _BASE64 + "{30,}", ("dG9r" + "O", _MIX), faint=True),
    _family("twilio", "SK", _HEX + r"{32}\b", ("S" + "K", _LOW[:32])),
    _family("telnyx", "KEY0", r"[0-9A-F]{20,}_\w{16,}", ("KEY" + "0", "A1B2C3D4" * 4 + "_" + _MIX[:22])),
    _family("twitter", "AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{30,}", ("AAAAAAAAAAA" + "AAAAAAAAAA", _MIX + "%3D" + _MIX)),
    _family("dropbox", r"sl\.(?:u\.)?", _ANY + "{60,}", ("s" + "l.", _MIX + _MIX), faint=True),
    _family("adobe", "p8e-", _ALNUM + "{24,}", ("p8" + "e-", _MIX), faint=True),
    _family("buildkite", "bk(?:ua|at|ct|aj|pt)_", _ALNUM + "{20,}", ("bkua" + "_", _LOW)),
    _family("circleci", "CCIPAT_|CCIPRJ_", r"\w{16,}", ("CCIPAT" + "_", _MIX)),
    _family("sonar", "sq[apu]_", _HEX + "{32,}", ("sq" + "p_", _LOW[:40])),
    _family("snyk", "snyk_(?:uat|sat)?", r"[\w.-]{24,}", ("snyk" + "_uat", "." + _LOW), faint=True),
    _family("launchdarkly", "(?:api|sdk|mob)-", r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", ("sd" + "k-", "a1b2c3d4-a1b2-c3d4-a1b2-a1b2c3d4a1b2"), faint=True),
    _family("frameio", "fio-u-", _ANY + "{24,}", ("fi" + "o-u-", _MIX)),
    _family("readme-typeform", "rdme_|tfp_", _ANY + "{24,}", ("tfp" + "_", _MIX), faint=True),
    _family("shippo-easypost", "shippo_(?:live|test)_|EZ[AT]K", _ALNUM + "{24,}", ("shippo" + "_live_", _LOW), faint=True),
    _family("duffel", "duffel_(?:live|test)_", _ANY + "{20,}", ("duffel" + "_live_", _MIX)),
    _family("lob", "(?:live|test)_", _HEX + "{32,}", ("liv" + "e_", _LOW[:35]), faint=True),
    _family("contentful", "CFPAT-", _ANY + "{20,}", ("CFPA" + "T-", _MIX)),
    _family("sourcegraph", "sgp_|slk_", r"[A-Za-z0-9_]{36,}", ("sg" + "p_", _LOW), faint=True),
    _family("tailscale", "tskey-(?:api|auth|client|scim|webhook)-", _ANY + "{10,}", ("tskey" + "-auth-", _MIX)),
    _family("stytch-clerk-workos", "secret-(?:live|test)-|sk_(?:prod|dev)_", _BASE64 + "{20,}", ("secret" + "-live-", _MIX)),
    _family("okta", "00", _ANY + r"{40}\b", ("0" + "0", "a1B2-3D4_" + _MIX[:31]), faint=True),
    _family("zuplo", "zpka_", _ANY + "{16,}", ("zpka" + "_", _MIX), faint=True),
    _family("cursor-e2b", "crsr_|key_|e2b_|sk_e2b_", _HEX + "{32,}", ("e2" + "b_", _LOW[:40]), faint=True),
    _family("named-key", "[a-z]{2,10}_(?:sk|pat|secret|apikey|token)_", _ALNUM + "{20,}", ("acme" + "_sk_", _MIX), faint=True, trigger="_(?:sk|pat|secret|apikey|token)_"),
    _family("age", "AGE-SECRET-KEY-(?:PQ-)?1", "[A-Z0-9]{20,}", ("AGE-" + "SECRET-KEY-1", "A1B2C3D4" * 7)),
    _family("nostr", "nsec1", "[a-z0-9]{40,}", ("nse" + "c1", _LOW)),
    _family("bitcoin", "[xyz]prv", _ALNUM + "{80,}", ("xpr" + "v", _MIX + _MIX + _MIX)),
    _family("minisign", "RWRTY0Iy|untrusted comment: minisign encrypted secret key\\s+RWR", _BASE64 + "{20,}", ("RWRT" + "Y0Iy", _MIX)),
    _family("azure-signed", r"[A-Za-z0-9+/]{40,90}(?:AzFu|AzSe|AACDb|AACR|\+ASt|\+AMC|\+AIoT|\+ARm|\+AEh|ACDb|AZDO|ACR)", _BASE64 + "{4,44}", (_MIX + "+" + "ASt", "AbCd12=="), trigger="AzFu|AzSe|ACDb|ACR|ASt|AMC|AIoT|ARm|AEh|AZDO"),
    _family("confluent", "cflt", r"[A-Za-z0-9/+]{50,}", ("cfl" + "t", _MIX + _MIX), faint=True),
    _family("octopus", "API-", "[A-Z0-9]{25,}", ("AP" + "I-", "A1B2C3D4" * 4), faint=True),
    _family("lark", "[tu]-g[0-9a-z]", _ALNUM + "{32,}", ("t-" + "g1", _MIX), faint=True),
    _family("github-app-legacy", r"v1\.", _HEX + r"{40}\b", ("v1" + ".", _LOW[:40]), faint=True),
    _family("onfido", r"api_(?:live|sandbox)(?:_[a-z]{2})?\.", _DOTTED + "{30,}", ("api_" + "live.", _MIX)),
    _family("wallet-import", "(?i:wif|wallet|private key)[\\s:=]{1,4}[5KL]", r"[1-9A-HJ-NP-Za-km-z]{50,51}\b", ("WIF 5", "a1B2c3D4" * 6 + "Ab"), faint=True),
    _family("entra", r"[A-Za-z0-9_.~-]{3}[0-9]Q~", r"[A-Za-z0-9_.~-]{12,}", ("aB3" + "8Q~", _MIX[:32] + "x9"), trigger="[0-9]Q~"),
)  # fmt: skip
# Known by their shape more than by their beginning; looked for apart from the others, because each
# of them has to count characters.
SHAPES: Final = (
    _family("asana", "[012]/[0-9]{12,20}[:/]", _ALNUM + "{24,}", ("1/" + "123456789012345:", _LOW[:32]), faint=True),
    _family("ngrok", "ngrok_|2[A-Za-z0-9]{26}_", _ALNUM + "{20,}", ("2a1B2c3D4a1B2c3D4a1B2c3D4a1" + "_", _MIX[:21]), faint=True, trigger="ngrok_|[A-Za-z0-9]_[A-Za-z0-9]{20}"),
    _family("mailgun-bare", "[0-9a-f]{32}", "-[0-9a-f]{8}-[0-9a-f]{8}", (_LOW[:32], "-a1b2c3d4-e5f6a7b8"), trigger="[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"),
    _family("zhipu", r"[0-9a-f]{32}\.", _ALNUM + r"{16}\b", (_LOW[:32] + ".", "a1B2c3D4a1B2c3D4"), faint=True, trigger=r"[0-9a-f]{32}\.[A-Za-z0-9]{16}"),
    _family("ably", r"[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{6}:", _ANY + "{20,}", ("a1B2c3" + ".d4E5f6:", _MIX), faint=True, trigger=r"\.[A-Za-z0-9_-]{6}:[A-Za-z0-9_-]{8}"),
)  # fmt: skip
