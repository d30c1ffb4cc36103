"""The library as others use it: its header, its symbols, its install tree, two threads."""
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import cores

BUILD = os.environ.get("PSC_BUILD_DIR", os.path.join(cores.SOURCE, "build"))
HEADER = os.path.join(cores.SOURCE, "analyzer", "include")
# pystack_core.h, and the parts that it includes.
HEADERS = sorted(os.listdir(HEADER))
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic-errors"]


def compiles(compiler, flags, source, folder):
    if shutil.which(compiler) is None:
        pytest.skip("no %s here" % compiler)
    path = folder / source[0]
    path.write_text(source[1])
    done = subprocess.run([compiler, *flags, *WARNINGS, "-I", HEADER, "-fsyntax-only", path],
                          capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", ["c99", "c11", "c17"])
def test_header_alone_in_c(compiler, standard, tmp_path):
    for part in HEADERS:
        compiles(compiler, ["-std=" + standard], ("alone.c", "#include <%s>\nint x;\n" % part), tmp_path)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++11", "c++17", "c++20"])
def test_header_alone_in_cpp(compiler, standard, tmp_path):
    source = "#include <pystack_core.h>\nconst char *(*version)() = psc_version;\n"
    compiles(compiler, ["-std=" + standard], ("alone.cpp", source), tmp_path)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The install tree, made by cmake --install."""
    if analyzer.SANITIZED:
        pytest.skip("a sanitized library needs its sanitizer loaded first")
    prefix = tmp_path_factory.mktemp("installed")
    done = subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return prefix


def one_below(folder, pattern):
    found = sorted(folder.rglob(pattern))
    assert found, "no %s is installed" % pattern
    return found[0]


def test_all_parts_are_installed_and_included(installed):
    folder = one_below(installed, "pystack_core.h").parent
    assert sorted(os.listdir(folder)) == HEADERS and len(HEADERS) > 5
    included = re.findall(r'^#include "(\S+)"$', (folder / "pystack_core.h").read_text(), re.M)
    assert sorted(included + ["pystack_core.h"]) == HEADERS


def test_exported_symbols(installed):
    library = one_below(installed, "libpystack_core.so")
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True)
    names = [line.split()[-1].split("@")[0] for line in listed.stdout.decode().splitlines()
             if line.split()[1] != "A"]
    promised = set()
    for part in HEADERS:
        with open(os.path.join(HEADER, part)) as file:
            promised |= set(re.findall(r"PSC_API[^;(]*?\b(psc_\w+)\(", file.read()))
    assert promised and set(names) == promised
    with open(os.path.join(cores.SOURCE, "analyzer", "pystack_core.map")) as file:
        assert set(re.findall(r"^ +(psc_\w+);", file.read(), re.M)) == promised


def test_installed_program(installed, any_core):
    program = one_below(installed, "pystack-core")
    done = subprocess.run([program, any_core], capture_output=True, timeout=600)
    assert done.stdout == analyzer.run(any_core).stdout_bytes


def build_with_pkg_config(installed, folder, source=cores.NATIVE + "/consumer.c"):
    one_below(installed, "pystack-core.pc")
    library = one_below(installed, "libpystack_core.so").parent
    env = {**os.environ, "PKG_CONFIG_PATH": str(library / "pkgconfig")}
    query = ["pkg-config", "--define-variable=prefix=%s" % installed, "--define-variable=libdir=%s" % library,
             "--define-variable=includedir=%s" % one_below(installed, "pystack_core.h").parent,
             "--cflags", "--libs", "pystack-core"]
    flags = subprocess.run(query, env=env, check=True, capture_output=True).stdout.decode().split()
    program = folder / "consumer"
    subprocess.run(["cc", *WARNINGS, "-o", program, source, *flags, "-pthread"], check=True)
    return program, {**os.environ, "LD_LIBRARY_PATH": str(library)}


def test_two_threads_with_pkg_config(installed, any_core, system, tmp_path):
    """consumer.c reads two cores from two threads at once."""
    program, env = build_with_pkg_config(installed, tmp_path)
    done = subprocess.run([program, any_core], env=env, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == analyzer.run(any_core).stdout_bytes
    other = cores.make_core("threads", system).path
    done = subprocess.run([program, any_core, other], env=env, capture_output=True, timeout=600)
    assert done.returncode == 3, "two different cores, two different reports"


@pytest.mark.cases(["threads", "exception_handled"])
def test_stacks_by_accessors_alone(installed, core, tmp_path):
    """docs/examples/print_stacks.c has what JSON has, with --locals."""
    example = os.path.join(cores.SOURCE, "docs", "examples", "print_stacks.c")
    program, env = build_with_pkg_config(installed, tmp_path, example)
    done = subprocess.run([program, core.path], env=env, capture_output=True, timeout=600)
    document = analyzer.json_of("--locals", core.path).json
    lines = ["%s in thread %d: %s" % tuple(document["crash"][one] for one in ("signal", "thread", "summary")),
             "%s %s" % tuple(document["target"]["python"][one] for one in ("implementation", "version"))]
    for thread in document["threads"]:
        states = "".join(" " + state for state in ("crashed", "holds-gil") if state in thread["state"])
        lines += ["", "thread %d %s%s" % (thread["tid"], thread["name"] or "-", states)]
        exception = thread["exception"]
        if exception:
            lines.append("  %s %s" % ({"raised": "raised", "handled": "handles"}[exception["state"]], exception["type"]))
        for frame in thread["frames"]:
            kind = {"python": "Python", "cython": "Cython"}.get(frame["kind"], frame["kind"])
            line = "  %-6s %s" % (kind, frame["function"] or "??")
            if frame["file"] and frame["line"]:
                line += " %s:%d" % (frame["file"], frame["line"])
            elif frame["module"] and frame["offset"]:
                line += " %s+%s" % (frame["module"], frame["offset"])
            lines.append(line)
            lines += ["         %s = %s" % one for one in frame.get("locals", {}).items()]
    assert done.stdout.decode().splitlines() == lines
    assert done.stderr.decode().splitlines() == ["%s: %s" % (one["code"], one["message"])
                                                 for one in document["warnings"]]
    done = subprocess.run([program, "/nonexistent"], env=env, capture_output=True)
    assert done.returncode == 2 and done.stderr.decode().endswith(" (PSC_ERR_IO)\n"), done.stderr.decode()


def test_find_package(installed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(consumer C)\n"
        "find_package(pystack-core REQUIRED)\n"
        "find_package(Threads REQUIRED)\n"
        "add_executable(consumer %s/consumer.c)\n"
        "target_link_libraries(consumer PRIVATE pystack-core::pystack_core Threads::Threads)\n"
        % cores.NATIVE)
    for command in (["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "b",
                     "-DCMAKE_PREFIX_PATH=%s" % installed],
                    ["cmake", "--build", tmp_path / "b"]):
        done = subprocess.run(command, capture_output=True)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()
