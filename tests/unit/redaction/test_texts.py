"""Secrets and personal data as people write them, and what only looks like them."""

import pytest

from tests.support.tables import every_row
from understudy.redaction.scrub import scrub

PASSWORD = "Zx9k" + "k2mQ"
RANDOM = "k8Jq" + "2Zx9Lm4T" + "v7Bd1Wc3"
DIGEST = "9df5e46d19a3aa07" + "bbf4e84b5eb59b77"

# `{}` is where the password stands.
PASSWORDS = (
    "mysql -uroot -p{} -h db", "sshpass -p '{}' ssh u@h", "ConvertTo-SecureString '{}' -AsPlainText -Force",
    "redis-cli -h r -a {} ping", "curl --user bob:{} http://x",
    "docker login -u bob -p {} reg.test", "openssl enc -pass pass:{} -in a", "PGPASSWORD={} pg_dump db",
    "CREATE USER bob IDENTIFIED BY '{}'", "ALTER ROLE bob WITH PASSWORD '{}';", "machine h.test\n login bob\n password {}\n",
    "db.test:5432:app:bob:{}", "pw: {}", "login: admin / pass: {}", "用户名admin，密码{}", "tài khoản admin mật khẩu {} nhé",
    "パスワードは{}です", "비밀번호는 {} 입니다", "Das Passwort lautet {}.", "le mot de passe est {}", "la contraseña es {}",
    "пароль: {}", "口令为 {}", 'System.setProperty("db.password", "{}");', "spring.datasource.password={}",
    '<property name="password" value="{}"/>', '"password":{{"value":"{}"}}', "-DdbPassword={}", "'password' => '{}',",
    "DB_PASS={}", "SMTP_PASS 👉 {}", "ENV DB_PASSWORD {}\nCMD run", "set -gx DB_PASSWORD {}", "DB_PASSWORD ?= {}",
    'var password = @"{}";', 'let password: &str = "{}";', "<password><![CDATA[{}]]></password>", "[db_password] {}",
    "Set-Item -Path Env:DB_PASSWORD -Value {}", "password:\n{}\n", "jdbc:oracle:thin:scott/{}@h:1521/x",
    "username bob password {}!1", "use {}!1 as password", "Password - {}", "the password for the db is {}!1", "password will be {}!1",
    "passphrase “{}”", "新密码【{}】已生效", "Mật khẩu của máy chủ là {}!1", "A senha é {}", "mk: {}", "pаsswоrd: {}", "PassWd={}", "pass_word={}",
    "password: >-\n  {}\n", "<key>Password</key>\n<string>{}</string>", 'variable "db_password" {{\n  default = "{}"\n}}',
    "auth=('bob', '{}')", '.basicAuth("bob", "{}")', "http -a bob:{} GET x", "zip -P {} a.zip a", "7z x -p{} a.7z", "openssl enc -k {} -in a",
    "net user bob {} /add", "snmpwalk -v3 -A {} h", "sqlplus bob/{}@//h:1521/x", "bob:{}@tcp(h:3306)/db", "echo {} | docker login -u bob",
    "| user | password |\n|---|---|\n| bob | `{}` |", "user,password\nann,x1\nbob,{}\n", "USER    PASSWORD\nbob     {}\n",
    "INSERT INTO u (name, password) VALUES ('bob', '{}')", "kind: Secret\nstringData:\n  root: {}\n", "log in with admin / {}!1",
    "Data Source=h;User ID=sa;Pwd={};Encrypt=True", "smtp://mailer:{}@smtp.test:587",
)  # fmt: skip
VALUES = (
    "token: {}", "here is the token you asked for:\n\n    {}", "api key\n{}", "(token {})", "密钥{}已泄露", "secret key -> {}",
    "vault: use {} as credential", "GET /x?a=1&access_token={}&b=2", "X-Auth-Token: {}", "Authorization: ApiKey {}",
    "Set-Cookie: connect.sid=s%3A{}; Path=/", "//registry.test/:_authToken={}", "https://{}@git.test/x.git",
    "- name: API_TOKEN\n  value: {}", "| API_TOKEN | {} |", "API_TOKEN\t{}\tactive", "props.put(\"apiKey\", \"{}\");",
    "authorization=Bearer%20{}", "把API_TOKEN设置成“{}”即可", "API_TOKEN：「{}」", "The token was \"{}\" yesterday",
    "wss://h.test/?session={}", "postgres://app:{}…", "key is {}$x7!y",
)  # fmt: skip
DIGESTS = (
    "DD_API_KEY={}",
    "DD_API_KEY 的值为 {}",
    "dd_api_key: '{}'",
    "auth_token={}",
    "Your API key is {}.",
)
PERSONAL = (
    "ann.b@corp.example.org", "zhang_san@163.com", "jörg@müller-example.de", "info@bücher.example",
    "+49 30 901820", "+55 11 91234-5678", "+84 (0) 912 345 678", "0044 20 7946 0958", "06.12.34.56.78", "0903.123.456",
    "090-1234-5678", "(212) 555 0147", "415.555.0132", "1-800-555-0199", "138-1234-5678",
    "371449635398431", "3714 496353 98431", "4111.1111.1111.1111",
    "٤١١١ ١١١١ ١١١١ ١١١١", "4111–1111–1111–1111", "30569309025904",
    "2223003122003222", "6011 1111 1111 1117", "GB29 NWBK 6016 1331 9268 19", "536-90-4399",
)  # fmt: skip
CALLED = (
    "Mobile: {07911123456}", "电话：{010-62781234}", "phone_number: {2025550143}", "hotline: {1900 1234 56}",
    "số của em là {0356789012}", "请拨打{13912345678}联系我", "Tel {030/901820}", "call {98765 43210} now",
    "card {4012-8888-8888-1881} 12/27", "SSN:{536904399}", "joe%40mail.example.com", "ssn={536%2D90%2D4399}",
    "my card\n{4111111111111111}", "Call\n{+33612345678}", "name: Bob\n{123-45-6789}", "Bob,{+33612345678},Paris", "{#4111111111111111}",
    "card {4111|1111|1111|1111} ok", "pay to {DE 89 3704 0044 0532 0130 00} now", "{DE89.3704.0044.0532.0130.00}", "NINO {QQ123456C}",
    "CPF {123.456.789-09}", "DNI {12345678Z}", "PESEL {44051401359}", "{RSSMRA85T10A562S}", "주민등록번호 {900101-1234567}", "NRIC {S1234567D}",
    "%B{4111111111111111}^DOE/JOHN", "PIN={4821}", "CVV: {737}", "CCCD: {079093012345}", "call {415-555-0187} 2 times",
)  # fmt: skip
STAYS = (
    "2026-05-06 07:08:09", "06/05/2026 14:30", "fe80::1ff:fe23:4567:890a", "order #10023456789", "ISBN 978-3-16-148410-0",
    "ISBN 0-306-40615-2", "IMEI 490154203237518", "lat 40.712776, lon -74.005974", "1 234 567,89 €", "0x7ffee4b3c8a0",
    "EAN 4006381333931", "100-200-3000", "1 2 3 4 5 6 7 8 9 0", "UTC+07:00", "serial 1234-5678-9012-3456", "call 911",
    "数量 12345678901 个", "0912345678 rows", "firmware 415.555.0132.7", "phiên bản 0912.345.678-beta", "[0201.0020.0002]",
    "Decimal('+35236450.6')", "Boston, MA 02110-1301", "1.319 590 8951 e-15", "tel aviv 2026", "ticket 555-0199",
    "part number 123-45-678", "the serial number of it is 212-555-0199", "number 1410794", "0015 0016 0017", "+123 456",
    "+0 12 34 56 78 90",
    "000-12-3456",
    "call 4111x",
    "(415 555-2671",
    "DE89 3704 0044 0532",
    "x4012888888881881",
    "password: https://h.test/1",
    "password: 1.2.3",
    "password: docs/v2/setup",
    "password is 1.2.3",
    'password: "it is the one with 1 capital"',
    "ssn 12-34-56789",
    "IBAN XX12 3456 7890 1234",
    "4242424242424242x", "(12) 34 (56", "4.556 335 252 760",
    "user@localhost", "foo@1.2.3", "root@web-1:~#", "icon@3x.png", "ssh deploy@10.0.0.5", "user@host.test:/srv/data",
    "https://user:pass@example.com", "ssh://git@github.com/a/b", "postgres://user:password@localhost:5432/db",
    "Password: required", "The session token lasts 3600 seconds.", "the password is base64-encoded", "auth: disabled",
    "password is SHA256 hashed", "random seed 1234567890", "pass: 12, fail: 3", "密码长度至少为8位", "Mật khẩu không đúng",
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbCdEf", "the login key image: data:image/png;base64,iVBORw0KGgoLsJxy5lk3h7Gm7IIq269",
    "password reset for user#12345678", "CPF 123.456.789-00", "DNI 12345678A", "msg_a1B2c3D4a1B2c3D4a1B2c3D4", "password: {registry_id}-auth-token",
    "| token | meaning |\n|---|---|\n| max_tokens | 4096 |", "SECRET_NAME=my-app-secret-v2", "password_file: /run/secrets/db_password", "password = auth[1]", "password=password",
    'token_url = "https://auth.example.com/oauth2/token"', "API_KEY: ${{ secrets.API_KEY }}", "password: !vault |",
    "secretKeyRef:\n  name: db-creds\n  key: password", 'password: "Must be at least 8 characters"', "token: TODO",
    '_HOST_PAT = ("^(%s|%s)(?::0*?[0-9]{0,4})?$")', "key: 3AA5C34371567BD2", "AWS::IAM::AccessKey: a1b2c3d4a1b2c3d4",
    "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 fixes the token refresh", "key id kid=2026-01",
    "idempotency-key: 7f3c1b2e-9d4a-4c6b-8e1f-2a3b4c5d6e7f", "next_page_token=CAUQAA2xYz9", "cache key " + DIGEST,
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk8Jq2Zx9Lm4Tv7Bd1Wc3k8Jq2Zx9Lm4Tv7 bob",
    "session 01HZX3V8K9QJ5T2W7R4Y6N1M0P started", "password:\nport2: 80", "pod/api-6f5d9c7b8-4xk2p",
    "password, token2,\nname3", "Bearer config.get(x)", "x" * 200 + "key=" + "y" * 200, "user1key" * 20 + "=a1b2c3",
)  # fmt: skip


@every_row("written", PASSWORDS)
def test_a_password_goes_wherever_people_write_one(written: str) -> None:
    assert PASSWORD not in scrub(written.format(PASSWORD))


# Names and signs before and behind values that hold signs themselves.
PUNCTUATED = (
    '{{"password": "{}", "x": 1}}', "DB_PASSWORD={}", "export API_SECRET='{}'", "[a]\npassword = {}\n", "  password: {}\n  user: x",
    "<password>{}</password>", '{{"client_secret":"{}"}}', "connect(user='u', password='{}')",
)  # fmt: skip
SIGNS = (
    "8^<k,MU}}_Bx9Lq2T", "(0)yX9a[b]Z7{{w|;Q", "^^t2a~Vq8.[79hA;=", "{{,|7f>Ht/i|9xQ2z", "h(w*9:v<2oE>o)5|#", "x[1]#P{{9&Q;z=7)kL",
)  # fmt: skip


@pytest.mark.parametrize("written", PUNCTUATED)
@pytest.mark.parametrize("value", SIGNS)
def test_a_value_full_of_signs_goes_whole(written: str, value: str) -> None:
    value = value.format()
    if "<" in value and "</" in written:
        value = value.replace("<", "-")
    clean = scrub(written.format(value))
    assert not any(value[at : at + 4] in clean for at in range(len(value) - 3))


def test_a_password_of_figures_goes_when_it_is_assigned() -> None:
    assert scrub("pwd: 471108") == "pwd: <redacted:secret>"


@pytest.mark.parametrize("written", VALUES)
def test_a_random_value_goes_when_something_near_says_what_it_is(written: str) -> None:
    assert RANDOM not in scrub(written.format(RANDOM))


@pytest.mark.parametrize("written", DIGESTS)
def test_what_looks_like_a_digest_goes_under_the_name_of_a_secret(written: str) -> None:
    assert DIGEST not in scrub(written.format(DIGEST))


@pytest.mark.parametrize("item", PERSONAL)
def test_personal_data_goes_whole(item: str) -> None:
    clean = scrub(f"see {item}, then", pii=True)
    assert clean.startswith("see <redacted:")
    assert clean.endswith(">, then")
    assert clean.count("<redacted:") == 1


@pytest.mark.parametrize("written", CALLED)
def test_a_number_goes_when_the_words_before_it_name_it(written: str) -> None:
    item = written[written.find("{") + 1 : written.find("}")] if "{" in written else written
    assert item not in scrub(written.replace("{", "").replace("}", ""), pii=True)


@every_row("text", STAYS)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert scrub(text, pii=True) == text


@pytest.mark.parametrize(
    "passphrase", ['PASSPHRASE="correct horse battery"', "DB_PASSWORD='correct horse'"]
)
def test_a_passphrase_in_quotes_goes(passphrase: str) -> None:
    assert "horse" not in scrub(passphrase)


def test_the_short_last_line_of_a_key_that_was_cut_goes_with_it() -> None:
    key = "-----BEGIN " + "RSA PRIVATE KEY-----\n" + "MIIEvQ" * 10 + "\n" + "q7Zk9aB2"
    assert scrub(f"cat id_rsa\n{key}") == "cat id_rsa\n<redacted:private-key>"


def test_what_is_encoded_far_apart_in_a_long_text_goes_and_the_rest_stays() -> None:
    filler = "All quiet on the line, nothing to see. " * 100
    text = f"{filler}token%3D{RANDOM}%26a {filler}token%3D{RANDOM}%26b {filler}"
    assert scrub(text) == (
        f"{filler}token%3D<redacted:secret>%26a {filler}token%3D<redacted:secret>%26b {filler}"
    )
