"""pystack-core --completion SHELL: what the shells then offer."""
import os
import re
import shlex
import shutil
import subprocess

import pytest

import analyzer


def run_shell(shell, script, *options):
    if shutil.which(shell) is None:
        pytest.skip("no %s here" % shell)
    done = subprocess.run([shell, *options, "-c", script, shell, analyzer.PROGRAM], capture_output=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()
    return done.stdout.decode().splitlines()


def bash_offers(*words, folder="/"):
    """For the last of the words, as bash splits them."""
    return run_shell("bash", 'source <("$1" --completion bash); cd %s; COMP_WORDS=(pystack-core %s); COMP_CWORD=%d;'
                     'complete -p pystack-core >/dev/null; _pystack_core; printf "%%s\\n" "${COMPREPLY[@]}"'
                     % (folder, " ".join(shlex.quote(word) for word in words), len(words)))


def long_options(*command):
    """Those that --help names."""
    shown = analyzer.run(*command, "--help").stdout
    return set(re.findall(r"^ {2,6}(?:-\w, )?(--[\w-]+(?:=full)?)", shown, re.M))


def commands():
    """Those that --help names, as it names them."""
    return re.findall(r"^  pystack-core ([a-z]+)   ", analyzer.run("--help").stdout, re.M)


def test_bash_offers_options():
    assert set(bash_offers("--")) == long_options() and len(long_options()) > 25
    assert bash_offers("--fo") == ["--format"]
    assert bash_offers("core", "--unw") == ["--unwinder"]


def test_bash_offers_values(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a file").write_text("")
    assert bash_offers("--format", "") == ["text", "json"]
    assert bash_offers("--format", "=") == ["text", "json"]
    assert bash_offers("--format", "=", "j") == ["json"]
    assert bash_offers("--output", "") == ["text=", "json="]
    assert bash_offers("--output", "json", "=", "a", folder=tmp_path) == ["a file"]
    assert bash_offers("--debug-dir", "", folder=tmp_path) == ["folder"]
    assert sorted(bash_offers("--sysroot", "", folder=tmp_path)) == ["a file", "folder"]
    assert sorted(bash_offers("-o", "", folder=tmp_path)) == ["a file", "folder"]
    assert str(os.getpid()) in bash_offers("--pid", "")
    assert bash_offers("--watch", "", folder=tmp_path) == [""]


def test_bash_offers_commands_and_files(tmp_path):
    (tmp_path / "demo.core").write_text("")
    assert sorted(bash_offers("de", folder=tmp_path)) == ["demangle", "demo.core"]
    assert bash_offers("x", "de", folder=tmp_path) == ["demo.core"]


def test_bash_offers_what_the_command_takes(tmp_path):
    (tmp_path / "a.core").write_text("")
    assert {"triage", "summary", "demangle"} <= set(commands())
    for command in commands():
        assert set(bash_offers(command, "--")) == long_options(command), command
    assert bash_offers("triage", "--fail-on", "") == ["any", "new", "none"]
    assert bash_offers("triage", "--form", folder=tmp_path) == ["--format"]
    assert "markdown" in bash_offers("triage", "--format", "") and "markdown" not in bash_offers("--format", "")
    assert bash_offers("triage", "-j", "", folder=tmp_path) == [""]
    assert bash_offers("triage", "", folder=tmp_path) == ["a.core"]


def test_help_of_each_command():
    for command in commands():
        done = analyzer.run(command, "--help")
        assert (done.returncode, done.stderr) == (0, "") and done.stdout == analyzer.run(command, "-h").stdout
        assert done.stdout.startswith("Usage: pystack-core %s" % command)
        assert "\nExamples:\n  " in done.stdout and "\nExit status: " in done.stdout and "-h, --help" in done.stdout
        assert max(map(len, done.stdout.splitlines())) < 100, command
        wrong = analyzer.run(command, "--no-such-option")
        assert wrong.returncode == analyzer.EXIT_USAGE and not wrong.stdout
        assert wrong.stderr == ("pystack-core: unknown or ambiguous option '--no-such-option'; "
                                "see pystack-core %s --help\n" % command)


def test_zsh_takes_the_script():
    found = run_shell("zsh", 'autoload -U compinit; compinit -D; source <("$1" --completion zsh);'
                      "print $_comps[pystack-core]", "-f")
    assert found == ["_pystack_core"]


def test_fish_offers():
    def offers(line):
        found = run_shell("fish", "$argv[2] --completion fish | source; complete -C %s" % shlex.quote(line),
                          "--no-config")
        return {one.split("\t")[0] for one in found}

    assert offers("pystack-core --fo") == {"--format"}
    assert offers("pystack-core --format ") == {"text", "json"}
    assert offers("pystack-core --").issuperset(long_options() - {"--save-core=full"})
    assert "demangle" in offers("pystack-core dem")
    assert offers("pystack-core triage --fail") == {"--fail-on"} and offers("pystack-core --fail") == set()
    assert offers("pystack-core triage --fail-on ") == {"any", "new", "none"}
    assert offers("pystack-core summary --") == long_options("summary")


def test_unknown_shell():
    done = analyzer.run("--completion", "tcsh")
    assert done.returncode == analyzer.EXIT_USAGE
    assert done.stderr == "pystack-core: --completion: 'tcsh' is none of bash, zsh, fish; see pystack-core --help\n"
