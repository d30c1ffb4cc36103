"""pystack-core --manual: a page for man(1), of what --help says."""
import re
import shutil
import subprocess

import pytest

import analyzer
import test_completion


def manual():
    done = analyzer.run("--manual")
    assert done.returncode == 0 and not done.stderr
    return done.stdout


def test_options_and_commands_are_in_it():
    text = manual().replace("\\-", "-")
    for command in [[], *[[name] for name in test_completion.commands()]]:
        for option in test_completion.long_options(*command):
            assert option in text, (command, option)
    assert re.findall(r"^\.SS (\w+)$", text, re.M) == test_completion.commands()
    for section in "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXAMPLES", "EXIT STATUS", "SEE ALSO":
        assert ".SH %s\n" % section in text


@pytest.mark.parametrize("reader", [["groff", "-man", "-Tutf8", "-ww", "-z"], ["mandoc", "-Tlint", "-Wwarning"]],
                         ids=lambda reader: reader[0])
def test_readers_do_not_complain(reader):
    if not shutil.which(reader[0]):
        pytest.skip("no %s here" % reader[0])
    done = subprocess.run(reader, input=manual().encode(), capture_output=True, timeout=60)
    said = [line for line in (done.stdout + done.stderr).decode().splitlines() if "missing date" not in line]
    assert not said and done.returncode in (0, 2 if reader[0] == "mandoc" else 0)
