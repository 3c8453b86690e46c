"""What looks like secret material is told from what is said about secrets."""

import pytest

from tests.support.tables import every_row
from understudy.learnings.secrets import (
    SecretCheck,
    read_together,
    secret_checks,
    secret_reason,
)

WEAK = "hunter2" * 2
ALNUM = "abc1234" + "56789"
VENDOR = "sk-" + "proj-"
GITHUB = "gh" + "p_"
RANDOM = "k8Jq" + "2Zx9Lm4T" + "v7Bd1Wc3"
PEM = "-----BEGIN " + "PRIVATE KEY-----"
WORDS = "opense" + "same"

PATTERNS = (
    f"personal access token = {GITHUB}1234567890", f"pat: {GITHUB}1234567890", f"PRIVATE_KEY: {PEM}",
    "Gateway key AI" + "zaSy" + "a1B2c3D4e" * 3 + "xyz123", "db postgres://u:" + "hunter2@h/db", f"api-key: {ALNUM}",
    f"x-api-key: {ALNUM}", f"clientSecret: {WEAK}", f'{{"clientSecret":"{WEAK}"}}', f"secret_token={ALNUM}",
    f"The deploy token: {RANDOM}", f"数据库密码：{RANDOM}", f"Mật khẩu cơ sở dữ liệu: {RANDOM}", f"We sign with {PEM}",
    f"The project uses {VENDOR}{RANDOM} for staging.", f"api-key: {VENDOR}x1",
    f"pass\u200bword: {WEAK}", f"ｐａｓｓｗｏｒｄ：{WEAK}",
)  # fmt: skip
ASSIGNMENTS = (
    f"The API key is {VENDOR}secret.", f"password: {WORDS}", f"passphrase = {WORDS}", f"The password is {WORDS}.",
    f"secret_token={WORDS}", f"api-key: {WORDS}", f'{{"password": "{WORDS}"}}', f"password -> {WORDS}", f"jwt_secret: {WORDS}",
    f"My password: {WORDS}", f"The password for staging is {WORDS}", f"Password of the database: {WORDS}", f"pwd={WORDS}",
    f"le mot de passe est {WORDS}", f"mot de passe : {WORDS}", f"mật khẩu là {WORDS}", f"密码是{WORDS}", f"密码：{WORDS}",
    f"Passwort: {WORDS}", f"The admin password was changed to {WORDS}", "Passphrase: correct " + "horse battery staple",
    "session_secret='keyboard " + "cat'", f"client_secret: '{WORDS[:6]}-{WORDS[6:]}'", f"export API_KEY={WORDS}",
    # in the middle of a sentence
    f"use api_key={ALNUM} now", f"set password={WORDS} before you go", f'use api_key="{ALNUM}" now', f"(api_key={ALNUM}) is old",
    f"call api_key:{ALNUM} first", "passphrase=our " + "horse battery staple",
    f"use api_key = {ALNUM} now", f"set API_KEY = {ALNUM} before the call",
)  # fmt: skip
MARKED = (
    "Access token is <redacted>.", "Write to <redacted:email> first", "Auth header was [REDACTED].", "api key = ***",
    "credential «redacted-secret» works", "password: [HIDDEN]", "key sk-" + "...redacted", "Bearer ******", "The token is REDACTED",
    "It is [REDACTED:llm-key] in prod", "token: [masked]", "secret ████████", "密码：******", "mật khẩu: [đã ẩn]", "API key ends in ****abcd",
    "the key AKI" + "A****WXYZ", "password=<removed>", "token: ••••••••", "api key: xxxxxxxx", "password: hidden",
    "Bearer [token removed]", "{{redacted}}", "the value was ~~redacted~~", "jeton: [masqué]", "clientSecret=***REMOVED***",
)  # fmt: skip
MIXED = "hunter" + "22"
HEX = "7f3a9c1e" + "5b2d4f60"
# How a sentence tells a secret without assigning it.
TOLD = (
    # short for a password, or written so that it is overlooked
    f"The root pw is {MIXED}", f"PW = {MIXED}", f"my pass is {MIXED}", f"the wifi pw: {MIXED}", f"passw0rd is {MIXED}",
    f"p@ssword: {MIXED}", f"p.a.s.s.w.o.r.d = {MIXED}", f"p-a-s-s-w-o-r-d: {MIXED}", f"P A S S W O R D : {MIXED}",
    # beside its name, and before it
    f"passwd {MIXED} for root", f"Log in with password {MIXED}.", f"mot de passe {MIXED}", f"密码{MIXED}", f"mật khẩu {MIXED}",
    f"Use {MIXED} as the password", f"{MIXED} is the admin password", f"{MIXED} is our password for staging",
    f"{HEX} is the API key", f"{MIXED} est le mot de passe",
    # with the name of who logs in
    f"The database login is admin:{MIXED}", f"login: admin / {MIXED}", f"credentials are root:{MIXED}", f"the creds are admin/{MIXED}",
    f"The sign-in is bob@example.com:{MIXED}",
    # of what was named before
    f"The api key is not a secret: it is {HEX}", f"the password is simple; it's {MIXED}", f"The password: you know it. It is {MIXED}",
    f"Le mot de passe est simple: c'est {MIXED}",
)  # fmt: skip
HARMLESS = (
    # an equals sign with a blank on each side, in a sentence
    "The token = whatever the vendor sends", "password = required for login", "api_key = None by default", "max_tokens = 4096 is enough",
    "token = next(tokens) in the loop", "token = base64url of the header", "the api_key = sha256 of the body", "token = sha256sum of the file",
    "api_key = read_from_vault before each call", "access_token = response.json() after login", "api_key = 1234567890 is the ticket",
    # the words of the trade
    "Token budget is 1000.", "Pat prefers concise reports.", "The client secretariat prefers written updates.",
    "The private roadmap is still draft.", "Authentication strategy is still undecided.", "Cookie preference: oatmeal",
    "Password policy: rotate every 90 days", "Compat: Windows 11", "The API token is rotated weekly", "Max tokens: 2048",
    "The API key is rotated every 90 days", "Secrets live in Vault, never in git", "The key to speed is batching",
    "The secret of speed is batching", "The secret to good tests: isolation", "The tokenizer is cl100k_base", "Primary key: user_id",
    "Use x-api-key header for the gateway", "clientSecret must come from the environment", "api_key_env: OPENAI_API_KEY",
    "The signing key is Ed25519", "Password hashing: argon2id", "API key: optional", "The password is required", "Token: JWT",
    "The access token is short-lived", "API token: personal", "API token: ask the platform team", "Auth token: Keycloak",
    "Password: minimum twelve characters", "The password is in the vault", "token endpoint: https://auth.example.com/token",
    "password: string", "api_key = os.environ['API_KEY']", "Authorization: Bearer $TOKEN", "client_secret: required",
    "private_key_path=/etc/ssl/private/key.pem", "Token expiry is 15m", "Random seed is 1337", "First pass: lint, second pass: test",
    # figures beside such names
    "Use Argon2 as the password hash", "The password policy is new: it is 90days", "The login is handled by Keycloak24",
    "The login page is at localhost:8080", "Login: https://app.example.com/login", "The token format changed; it is base64url",
    "Use user_id2 as the partition key", "password step2 follows the username", "The api key header: it is x-api-key2",
    "The password store is new. It is k8s-based", "The access token is a JWT; it is signed with RS256", "Sign-in is at 09:30",
    "The credentials are user:pass pairs", "The login is admin:reader roles only", "The pw field is required", "The mountain pass is 2100m high",
    "Options A B C D are open", "Use 1Password as the password manager", "The API key rotates; that is OPS-1234",
    # in the middle of a sentence
    "Use password=args.password if given", "Run with --password=prompt to be asked", "token=get_token() is called",
    "pass --token=TOKEN to it", "Set MAX_TOKENS=2048 for it", "client_secret=your-secret here", "password = string or null",
    # said elsewhere
    "密码策略：每90天更换", "密码：必填", "访问令牌是短期的", "Mật khẩu phải có ít nhất 12 ký tự", "Khóa chính là user_id",
    "le mot de passe est obligatoire", "La clé est le dialogue",
    # what is taken out elsewhere
    "Redaction is applied before storage", "Redacted documents go to legal", "Logs are redacted before upload",
    "Fields are masked in the UI", "The hidden menu is under Settings", "Scenes are parted by ***", "Password ***rules*** apply",
    "Rating is *** out of five", "[hidden] is an attribute", "Keys begin with sk-...", "Globs are **/*.py",
    # personal, and no secret
    "Write to ann@example.com about invoices", "The hotline is +49 30 901820",
    # numbers and names that open nothing
    "Commit 9f2c1a7d4e fixes the leak", "Run id 3f0c1d2e-aaaa-4bbb-8ccc-123456789abc", "Ticket OPS-1234 covers key rotation",
)  # fmt: skip


# Those that are not redaction's.
OWN_CHECKS = [it for it in secret_checks() if it.reason != "secret_pattern"]


@pytest.mark.parametrize("check", secret_checks(), ids=lambda check: check.id)
def test_each_check_holds_for_its_examples_and_no_check_for_its_misses(check: SecretCheck) -> None:
    assert check.matches
    assert check.misses
    for text in check.matches:
        assert check.holds(text), text
        assert secret_reason(text, strictly=check.is_strict) is not None
    for text in check.misses:
        assert secret_reason(text, strictly=check.is_strict) is None, text


def test_the_ids_of_the_checks_are_unique() -> None:
    assert len({check.id for check in secret_checks()}) == len(secret_checks())


@pytest.mark.parametrize("text", PATTERNS)
def test_what_the_scrubber_takes_out_is_a_secret(text: str) -> None:
    assert secret_reason(text) == "secret_pattern"


@pytest.mark.parametrize("text", ASSIGNMENTS)
def test_what_is_assigned_to_the_name_of_a_secret_is_one(text: str) -> None:
    assert secret_reason(text) in {"secret_assignment", "secret_pattern"}


@pytest.mark.parametrize("text", TOLD)
def test_what_a_sentence_tells_of_the_name_of_a_secret_is_one(text: str) -> None:
    assert secret_reason(text) in {"secret_assignment", "secret_pattern"}


@pytest.mark.parametrize("text", MARKED)
def test_what_was_taken_out_of_a_text_shows(text: str) -> None:
    assert secret_reason(text) == "redaction_marker"


@every_row("text", HARMLESS)
def test_what_is_said_about_secrets_is_none(text: str) -> None:
    assert secret_reason(text) is None


def test_a_secret_is_found_wherever_it_stands() -> None:
    filler = "The release goes out on Friday. " * 20

    assert secret_reason(f"{filler}\npassword: {WORDS}\n{filler}") == "secret_assignment"
    assert secret_reason(f"{filler}token: [masked] {filler}") == "redaction_marker"


def test_words_whose_letters_are_apart_are_read_as_one() -> None:
    assert (
        read_together("the p.a.s.s.w.o.r.d, s e c r e t and k-e-y-2")
        == "the password, secret and key2"
    )
    for as_it_is in ("e.g. this", "A b or c d", "a.b.C", "3.1.4.1.5"):
        assert read_together(as_it_is) == as_it_is


@pytest.mark.parametrize(
    "piece",
    [
        "*",
        "....",
        "a=",
        "password: is ",
        "password ",
        "a as the password policy ",
        "login is a:",
        "it is a ",
        "a.",
    ],
)
def test_long_texts_take_no_more_than_their_length(piece: str) -> None:
    """Were it with the square of the length, this would not end in time."""
    text = piece * (60_000 // len(piece))

    assert not any(check.holds(text) for check in OWN_CHECKS)
    assert read_together(text)
