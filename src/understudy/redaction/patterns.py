"""What a secret looks like: a table of rules, each with examples that must and must not match.

Every repeat is bounded and none is nested, and a rule can only start where a word starts, so the
time to search a text grows with its length whatever is in it. Examples are joined from parts, so
that no scanner takes this file for a leak.
"""

import re
from dataclasses import dataclass
from typing import Final

from understudy.redaction.opaque import (
    SENSITIVE_ENDINGS,
    Check,
    is_basic_pair,
    is_opaque_assignment,
    is_opaque_bearer,
    is_quoted_secret,
    is_real_secret,
    is_real_token,
    is_secret_query,
)

# Upper bound of one secret, above any text the product keeps: what is longer would leave a rest.
_MAX: Final = 1_048_576
_WORD_START: Final = r"(?<![A-Za-z0-9])"
_TOKEN: Final = r"[A-Za-z0-9_-]"  # noqa: S105


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One family of secrets; the group `secret` is taken out, or the whole match without one."""

    id: str
    kind: str
    pattern: re.Pattern[str]
    matches: tuple[str, ...]
    misses: tuple[str, ...]
    check: Check | None = None


def _token(
    rule_id: str,
    prefix: str,
    body: str,
    *,
    matches: tuple[str, ...],
    misses: tuple[str, ...],
) -> Rule:
    # What is glued to a token goes with it: another token may start there.
    pattern = re.compile(rf"{_WORD_START}(?:{prefix})(?P<body>{body}){_TOKEN}{{0,{_MAX}}}+")
    return Rule(
        id=rule_id,
        kind="api-key",
        pattern=pattern,
        matches=matches,
        misses=misses,
        check=is_real_token,
    )


_PEM_BEGIN: Final = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM_END: Final = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_FIRST_WORDS: Final = "|".join(
    sorted({ending.split()[0] for ending in SENSITIVE_ENDINGS if " " in ending})
)
_SPELLINGS: Final = sorted(
    {
        joint.join(ending.split())
        for ending in SENSITIVE_ENDINGS
        for joint in ("", "_", "-", ".", " ")
    }
)
_SEPARATOR: Final = r"\\{0,3}[\"'`]?(?:[ \t]{0,8}+(?:=>|:=|={1,3}|:)[ \t]{0,8}+|[ \t]is[ \t])"
# Only a sensitive key may match at all: any other would swallow the text up to the next quote.
_KEY: Final = (
    rf"(?<![A-Za-z0-9_.-])(?P<key>-{{0,2}}(?:(?i:{_FIRST_WORDS}) )?"
    # The separator is looked for first, because most words have none.
    rf"[A-Za-z_][A-Za-z0-9_.-]{{0,127}}+)(?={_SEPARATOR})"
    rf"(?i:{'|'.join(f'(?<={re.escape(spelling)})' for spelling in _SPELLINGS)})"
)

# Applied in this order: the most specific shape names what was found.
RULES: Final = (
    Rule(
        id="pem-private-key",
        kind="private-key",
        pattern=re.compile(rf"{_PEM_BEGIN}(?>(?:[^-]|-(?!----)){{0,{_MAX}}}){_PEM_END}"),
        matches=(
            "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIE" * 8 + "\n-----END " + "PRIVATE KEY-----",
            "-----BEGIN " + "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + "q7" * 20
            + "\n-----END " + "RSA PRIVATE KEY-----",
        ),
        misses=("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",),
    ),
    Rule(
        id="pem-private-key-truncated",
        kind="private-key",
        pattern=re.compile(rf"{_PEM_BEGIN}(?>(?:[A-Za-z0-9+/=\s\\:,>#|*]|-(?!----)){{0,{_MAX}}})"),
        matches=("-----BEGIN " + "EC PRIVATE KEY-----\n" + "MHcC" * 12,),
        misses=("-----BEGIN CERTIFICATE-----\nMIIB",),
    ),
    Rule(
        id="jwt",
        kind="jwt",
        pattern=re.compile(
            rf"(?<![A-Za-z0-9_-])eyJ{_TOKEN}{{8,{_MAX}}}+\.{_TOKEN}{{8,{_MAX}}}+"
            rf"(?:\.{_TOKEN}{{0,{_MAX}}}+)?"
        ),
        matches=("eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0In0." + "c2lnbmF0dXJl",),
        misses=("eyJ is how such tokens begin", "eyJfoo.bar.baz"),
    ),
    Rule(
        id="url-password",
        kind="password",
        pattern=re.compile(
            r"://[^\s/:@?#<>\"'`]{0,1024}+:(?P<secret>[^\s/@<>\"'`]{1,4096}+)(?=@)"
        ),
        matches=("postgres://app:" + "hunter2" + "@db.test/app", "redis://:" + "p4ss" + "@cache:6379"),
        misses=(
            "postgres://$USER:$PASS@$HOST/db",
            "postgres://user:<password>@localhost/db",
            "postgres://%s:%s@localhost/db",
            "https://example.test:8080/a@b",
        ),
        check=is_real_secret,
    ),
    Rule(
        id="query-parameter",
        kind="secret",
        pattern=re.compile(
            rf"[?&#;](?P<key>[A-Za-z][A-Za-z0-9_.-]{{0,63}}+)=(?P<secret>[^\s&#;<>\"'`]{{1,{_MAX}}}+)"
        ),
        matches=(
            "https://h.test/i?safe=1&signature=" + "s1",
            "https://h.test/i?api_key=" + "k1" + "&safe=1",
            "https://h.test/cb#access_token=" + "a1b2",
        ),
        misses=(
            "https://h.test/search?q=token&page=2",
            "https://h.test/list?page_token=abc",
            "https://h.test/i?token=${TOKEN}",
        ),
        check=is_secret_query,
    ),
    Rule(
        id="authorization-header",
        kind="authorization",
        pattern=re.compile(
            r"(?i)authorization\\{0,3}[\"'`]?[ \t]{0,8}+[:=][ \t]{0,8}+\\{0,3}[\"'`]?"
            rf"(?:bearer|basic|token)[ \t]{{1,8}}+(?P<secret>[A-Za-z0-9._~+/=-]{{4,{_MAX}}}+)"
        ),
        matches=("Authorization: Bearer " + "raw-token", "AUTHORIZATION: BASIC " + "dTpw" + "YXNz"),
        misses=("Authorization: Bearer <token>", 'curl -H "Authorization: Bearer $TOKEN"'),
        check=is_real_secret,
    ),
    Rule(
        id="bearer",
        kind="authorization",
        pattern=re.compile(
            rf"{_WORD_START}(?i:bearer)[ \t]{{1,8}}+(?P<secret>[A-Za-z0-9._~+/=-]{{4,{_MAX}}}+)"
        ),
        matches=("Bearer " + "raw-token", "BEARER " + "abc123def"),
        misses=("Bearer tokens are accepted.", "He is the bearer of news.", "Bearer {access_token}"),
        check=is_opaque_bearer,
    ),
    Rule(
        id="basic",
        kind="authorization",
        pattern=re.compile(
            rf"{_WORD_START}(?i:basic)[ \t]{{1,8}}+(?P<secret>[A-Za-z0-9+/]{{4,{_MAX}}}+={{0,2}})"
        ),
        matches=("Basic " + "dXNlcjpw" + "YXNz", "basic " + "dXNlcjpw" + "YXNzdw=="),
        misses=("Basic authentication is off.", "basic arithmetic"),
        check=is_basic_pair,
    ),
    _token(
        "openai-anthropic-key",
        "sk-(?:ant|proj|svcacct|admin|or)-",
        rf"{_TOKEN}{{1,{_MAX}}}+",
        matches=("sk-" + "ant-" + "x1", "key=sk-" + "proj-" + "Ab1" * 6, "用sk-" + "proj-" + "Ab1" * 6),
        misses=("sk-ant-...", "sk-proj-xxxxxxxx", "task-proj-alpha"),
    ),
    _token(
        "openai-legacy-key",
        "sk-",
        rf"(?=[A-Za-z_-]{{0,64}}+[0-9]){_TOKEN}{{16,{_MAX}}}+",
        matches=("sk-" + "a1" * 12,),
        misses=("sk-xxxxxxxxxxxxxxxxxxxxxxxx", "sk-learn-compatible-estimators", "disk-a1a1a1a1a1a1a1a1"),
    ),
    _token(
        "github-token",
        "gh[pousr]_|github_pat_",
        rf"[A-Za-z0-9_]{{1,{_MAX}}}+",
        matches=("ghp_" + "1234567890", "gho_" + "a1" * 18, "ghs_" + "a1" * 18, "github_pat_" + "1"),
        misses=("ghp_" + "X" * 36, "ghp_...", "weighs_more"),
    ),
    _token(
        "slack-token",
        "xox[abeoprs]-|xapp-",
        rf"{_TOKEN}{{1,{_MAX}}}+",
        matches=("xoxb-" + "1-2", "xoxp-" + "a1" * 10),
        misses=("xoxb-your-token-here", "xoxb-..."),
    ),
    _token(
        "aws-access-key",
        "AKIA|ASIA",
        rf"[A-Z0-9]{{12,{_MAX}}}+",
        matches=("AKIA" + "ABCDEFGH" + "IJKLMNOP", "ASIA" + "Z1" * 8),
        misses=("AKIA................", "ASIA PACIFIC", "AKIA" + "X" * 16),
    ),
    _token(
        "google-api-key",
        "AIza",
        rf"{_TOKEN}{{16,{_MAX}}}+",
        matches=("AIza" + "Sy" + "a1-" * 11,),
        misses=("AIzawa is a name", "AIza..."),
    ),
    _token(
        "gitlab-token",
        "gl(?:pat|ptt|dt|rt|ft|cbt)-",
        rf"{_TOKEN}{{8,{_MAX}}}+",
        matches=("glpat-" + "a1" * 10,),
        misses=("glpat-xxxxxxxxxxxx", "glpat-..."),
    ),
    _token(
        "package-registry-token",
        "hf_|npm_",
        rf"[A-Za-z0-9]{{16,{_MAX}}}+",
        matches=("hf_" + "aB" * 17, "npm_" + "a1" * 18),
        misses=("hf_hub_download", "npm_config_registry", "hf_..."),
    ),
    _token(
        "stripe-key",
        "[sr]k_(?:live|test)_",
        rf"[A-Za-z0-9]{{4,{_MAX}}}+",
        matches=("sk_" + "live_" + "a1" * 12, "rk_" + "live_" + "a1" * 12),
        misses=("sk_live_...", "risk_live_data", "sk_live_xxxxxxxx"),
    ),
    Rule(
        id="quoted-assignment",
        kind="secret",
        pattern=re.compile(
            rf"{_KEY}{_SEPARATOR}(?P<quote>\\{{0,3}}[\"'`])"
            rf"(?P<secret>(?>(?:(?!(?P=quote))(?:\\.|[^\n\\])){{4,{_MAX}}}))(?P=quote)"
        ),
        matches=(
            '{"clientSecret": "' + "hunter2" * 2 + '"}',
            "'apiKey': '" + "a1" * 8 + "',",
            'PASSWORD="' + "correct horse" + '"',
            'password = "' + "it's" + '\\"1"',
            'log = "{\\"api_key\\": \\"' + "a1" * 8 + '\\"}"',
        ),
        misses=(
            'api_key = os.environ["OPENAI_API_KEY"]',
            'token = "YOUR_TOKEN_HERE"',
            'api_key: "{{ vault_api_key }}"',
            "sort_key='created_at_2026'",
            '"token_type": "bearer_v2_auth"',
        ),
        check=is_quoted_secret,
    ),
    Rule(
        id="bare-assignment",
        kind="secret",
        pattern=re.compile(rf"{_KEY}{_SEPARATOR}(?P<secret>[^\s\"'`,;&<>]{{4,{_MAX}}}+)"),
        matches=(
            "api-key: " + "abc123456789",
            "DB_PASSWORD=" + "klb-GH7Y^d",
            "secret_token=" + "abc123456789",
            "personal access token = " + "a1" * 8,
            "api key: " + "a1" * 8,
            "the password is " + "hunter2",
            "mysql --password=" + "hunter2" + " -e",
        ),
        misses=(
            "Password policy: rotate every 90 days",
            "The API token is rotated weekly",
            "Token budget is 1000.",
            "Cookie preference: oatmeal",
            "max_tokens: 4096",
            "password: str = Field(..., min_length=8)",
            "password = getpass2.getpass()",
            "export GITHUB_TOKEN=$(gh auth token)",
            "token_count=abc123456789",
            "Compat: Windows 11",
        ),
        check=is_opaque_assignment,
    ),
)  # fmt: skip
