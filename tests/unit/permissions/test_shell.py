"""A deny finds a program however a shell is told to run it; what cannot be known counts as it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_effort import effort
from tests.support.tables import every_row
from understudy.permissions.shell import read_command_line, shell_touches
from understudy.permissions.shell_words import Word, commands

RM = "rm *"

DISGUISED = [
    # Before the command.
    "A=1 B[2]+=3 rm x",
    "x=$(date) rm x",
    "if true; then rm x; fi",
    "while :; do rm x; done",
    "! rm x",
    "time -p rm x",
    "{ rm x; }",
    "(rm x)",
    "f() { rm x; }",
    "function f { rm x; }",
    "for i in 1 2; do rm $i; done",
    "for i do rm $i; done",
    "coproc rm x",
    # Run by something else.
    "env -i A=1 rm x",
    "/usr/bin/env rm x",
    "command -p rm x",
    "exec rm x",
    "nohup rm x &",
    "sudo -u bob rm x",
    "sudo --user=bob -- rm x",
    "nice -n 10 rm x",
    "timeout -k 1 5 rm x",
    "find . | xargs -n 1 rm",
    "find . | xargs -I {} rm {}",
    r"find . -name x -exec rm {} \;",
    "sh -c 'rm x'",
    "sh -c 'cd /; rm x'",
    'bash -lc "sudo rm x"',
    "env -S 'rm x'",
    "eval rm x",
    "trap 'rm x' EXIT",
    "su bob -c 'rm x'",
    "su -c 'rm x' bob",
    "ssh host rm x",
    "sudo sh -c 'exec nice rm x'",
    # Inside something else.
    "echo $(rm x)",
    'echo "$(rm x)"',
    "echo `rm x`",
    "diff <(rm x) y",
    "echo ${a:-$(rm x)}",
    # Spelled another way.
    "/bin/rm x",
    "../bin/rm x",
    "r''m x",
    'r"m" x',
    "\\rm x",
    "r\\\nm x",
    "rm \\\n x",
    "A=1\rset rm x",
    # With redirections between the words.
    ">/dev/null rm x",
    "2>&1 rm x",
    "2>'a b' rm x",
    "&>out rm x",
    "rm >out -rf x",
    "rm<in x",
    "<<<word rm x",
    # On a line of its own, though it does not look like it.
    "echo a \\\\\nrm x",
    "# a remark \\\nrm x",
    "echo 'a\nb'\nrm x",
    "cat <<EOF\nit's\nEOF\nrm x",
]

UNKNOWN = [
    "$cmd x",
    "r$x x",
    "${cmd} x",
    '"$cmd" x',
    "$(echo rm) x",
    "`echo rm` x",
    "$'r\\x6d' x",
    "{rm,-rf,/}",
    "/bin/r? x",
    "/bin/r[m] x",
    "/*/rm* x",
    "A=1 $cmd x",
    "sudo $cmd x",
    "echo `$x y`",
    'echo "$($x y)"',
    "a; $b",
    "eval '$a b'",
    "eval '$a'",
    "sh -c '$0 x' rm",
    "for i do $i x; done",
    "f() { $x y; }",
    "case a in a) $x y;; esac",
    "echo $((1<<2))\n$x -rf /\n2",
    "cat <<EOF\nit's\nEOF\n$x y",
    "cat <<EOF\n$($x y)\nEOF",
    "echo `echo \\`$x y\\``",
]

PLAIN = [
    "echo rm",
    "farm x",
    "git rm x",
    "git commit -m 'rm x'",
    'echo "$x" $(date) $y',
    '[ -n "$x" ] && echo y',
    '[[ -f "$x" ]] || echo n',
    "awk '{print $1; $2}' f",
    "cat > f <<'EOF'\nsome `code` for $x\nEOF",
    "python3 -c 'a(b); $x'",
    "find . -name '*.py'",
    "x=$y",
    "ls *.py",
    "xargs -I {} cp {} d",
    "echo $((1+2))",
    "for f in $x; do echo $f; done",
    "echo a # $(rm",
    "echo a 2>&1",
    "a} x",
    "echo }",
]


@every_row("command", DISGUISED)
def test_a_denied_program_is_found_however_it_is_run(command: str) -> None:
    assert shell_touches(RM, command)


@pytest.mark.parametrize("command", UNKNOWN)
def test_a_program_that_only_the_shell_will_know_counts_as_denied(command: str) -> None:
    assert shell_touches(RM, command)
    assert shell_touches("git push*", command)


@pytest.mark.parametrize("command", UNKNOWN)
def test_but_not_by_a_rule_that_names_no_program(command: str) -> None:
    assert not shell_touches("*secret*", command)


@pytest.mark.parametrize("command", PLAIN)
def test_what_does_not_run_the_program_is_not_taken_for_it(command: str) -> None:
    assert not shell_touches(RM, command)


def test_a_program_without_words_of_its_own_is_found_too() -> None:
    assert shell_touches(RM, "find . | xargs rm")
    assert not shell_touches("rm -rf *", "find . | xargs rm")


def test_a_command_is_split_as_a_shell_would() -> None:
    assert commands("""a 'b c'"d $e" \\f >out; g 2>&1 | h <<E && i""") == [
        [Word("a"), Word("b cd $e", is_open=True), Word("f")],
        [Word("g")],
        [Word("h")],
        [Word("i")],
    ]


@pytest.mark.parametrize(
    "piece",
    [
        *("sudo -a ", "(", "$(", "`", "\\`", "<<a ", "<<a\n", "'\"", "a;", "sh -c '", "\\\n"),
        *("-exec ", "> ", "1", "env ", '"$(', "a=b ", "for do ", "{} ", "a[", "$'", "\\", "su -a "),
        *("a", "((", "1>", "<(", "function ", "do ", "eval ", "a}", "{};"),
    ],
)
def test_no_command_takes_long_to_read(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        return effort(lambda: read_command_line.__wrapped__(text))

    # Four times as long may take four times the work, and some more. A busy machine adds none to it.
    assert seconds(32_000) < max(6 * seconds(8_000), 0.5)


@given(st.text("ar m;&|()`$'\"\\<>{}\n=-#*", max_size=30))
def test_any_text_can_be_read(text: str) -> None:
    assert text in read_command_line(text).readings
