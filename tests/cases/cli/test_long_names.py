"""Names of C++ fit on a line, tell functions apart, and are whole in JSON and with --all."""
import json
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import cores

SOURCE = os.path.join(cores.PROGRAMS, "long_names.cc")


@pytest.fixture(scope="module")
def core():
    if shutil.which("g++") is None:
        pytest.skip("no g++ here")

    def make(folder):
        program = os.path.join(folder, "long_names")
        subprocess.run(["g++", "-std=c++17", "-g", "-O1", "-o", program, SOURCE], check=True, capture_output=True)
        how = cores.run_to_core([program], folder)
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    return os.path.join(cores.made_once("long_names", cores.digest(__file__, SOURCE), make), "core")


def names_of(core, *options):
    text = analyzer.run("--no-source", "--no-fold", *options, core).stdout
    return re.findall(r"^  #\d+ +C\+\+ +(.*?)  \S+$", text, re.M)


def test_names_fit(core):
    frames = [frame for frame in analyzer.json_of(core).json["threads"][0]["frames"]
              if frame["kind"] == "native" and frame["symbol"] and frame["symbol"].startswith("_Z")]
    whole = [frame["function"] for frame in frames]
    assert len([name for name in whole if len(name) > 100]) >= 3
    shown = names_of(core)
    descents = [name.rstrip() for name in shown if "descend" in name]
    assert len(descents) == len(set(descents)) == 3, shown
    assert all(len(name) <= 160 for name in shown), shown
    assert all("basic_string" not in name and "allocator" not in name for name in shown)
    # The start says which namespace and class, whatever is left out.
    assert all(name.startswith("a_namespace_of_some_length::holder_of_values<") for name in descents)


def test_whole_names(core):
    whole = [frame["function"] for frame in analyzer.json_of(core, "--all").json["threads"][0]["frames"]]
    listed = analyzer.run("--no-source", "--all", core).stdout
    for name in whole:
        assert name is None or name in listed
    assert any(len(name or "") > 100 for name in whole)
    assert "\u2026" not in "".join(names_of(core, "--all"))
