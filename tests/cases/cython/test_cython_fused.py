"""A fused function is shown with its C types when debug information tells them."""
import os
import shutil
import subprocess

import pytest

import analyzer
import cores

SOURCE = os.path.join(cores.SOURCE, "testdata", "cython", "fused.pyx")
RUN = """\
import os
import fused

def chain(index):
    if index == len(fused.CALLS):
        os.abort()
    fused.CALLS[index](lambda: chain(index + 1))

chain(0)
"""
# Innermost first; the functions of the list around each.
SHOWN = ["plain", "Cls.meth[double]", "mixed[int,long]", "mixed[double,float]", "cp_scale[int]",
         "cp_scale[double]", "scale[int]", "scale[double]"]


def make_core(system, level, debug, compiler="cc"):
    for tool in ("cython3", "python3-config"):
        if shutil.which(tool, path="/usr/bin") is None:
            pytest.skip("no /usr/bin/%s here" % tool)

    def make(folder):
        shutil.copy(SOURCE, folder)
        with open(os.path.join(folder, "run.py"), "w") as file:
            file.write(RUN)
        includes = subprocess.run(["/usr/bin/python3-config", "--includes"], check=True,
                                  capture_output=True, text=True).stdout.split()
        kind = ["--cplus"] if compiler == "c++" else []
        subprocess.run(["/usr/bin/cython3", *kind, "fused.pyx", "-o", "fused.cpp" if kind else "fused.c"],
                       cwd=folder, check=True, capture_output=True)
        subprocess.run([compiler, level, debug, "-fno-inline-small-functions", "-w", "-shared", "-fPIC",
                        *includes, "-o", "fused.so", "fused.cpp" if kind else "fused.c"], cwd=folder, check=True)
        cores.run_to_core([system.path, "-s", "run.py"], folder, {"PATH": "/usr/bin:/bin"})

    key = cores.digest(__file__, SOURCE, system.path, os.stat(system.path).st_mtime_ns)
    return os.path.join(cores.made_once("cython-fused-%s%s%s" % (compiler, level, debug), key, make), "core")


def shown(path):
    document = analyzer.json_of(path).json
    names = [frame["function"] for frame in document["threads"][0]["frames"] if frame["kind"] == "cython"]
    return [name for name in names if "lambda" not in name and name != "<module>"]


@pytest.mark.parametrize("compiler", ["cc", "c++"])
def test_types_of_fused_functions(system, compiler):
    if shutil.which(compiler) is None:
        pytest.skip("no %s here" % compiler)
    path = make_core(system, "-O1", "-g", compiler)
    names = shown(path)
    # Of a clone, or where the compiler inlined the other specialisation, nothing tells.
    assert [name.split("[")[0] for name in names] == [name.split("[")[0] for name in SHOWN]
    typed = [name for name in names if "[" in name]
    assert set(typed) <= set(SHOWN) and {"Cls.meth[double]", "mixed[double,float]"} <= set(typed)
    text = analyzer.run(path).stdout
    for name in names:
        assert "Cython  %s " % name in text


@pytest.mark.parametrize("compiler", ["cc", "c++"])
def test_types_without_optimisation(system, compiler):
    if shutil.which(compiler) is None:
        pytest.skip("no %s here" % compiler)
    # The body of a `def` is a function of its own there, whose symbol does not count.
    assert shown(make_core(system, "-O0", "-g", compiler)) == [name.replace("mixed[int,long]", "mixed").replace(
        "mixed[double,float]", "mixed") for name in SHOWN]


def test_no_types_without_debug_information(system):
    assert shown(make_core(system, "-O1", "-g0")) == [name.split("[")[0] for name in SHOWN]
