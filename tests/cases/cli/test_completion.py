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


def long_options():
    """Those that --help names."""
    shown = analyzer.run("--help").stdout
    return set(re.findall(r"^ +(?:-\w, )?(--[\w-]+(?:=full)?)", shown, re.M))


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


def test_unknown_shell():
    done = analyzer.run("--completion", "tcsh")
    assert done.returncode == analyzer.EXIT_USAGE
    assert done.stderr == "pystack-core: --completion: 'tcsh' is none of bash, zsh, fish; see pystack-core --help\n"
