"""--tasks: what tasks of trio and curio wait for, and which task has it, as the program says itself."""
import json
import os
import subprocess

import pytest

import analyzer
import cores
import interpreters
import living
import resting
from index_packages import packages_of

PROGRAM = os.path.join(cores.PROGRAMS, "library_waits.py")
TRIO = {(3, 8): "0.27.0", (3, 11): "0.22.2", (3, 12): "0.27.0", (3, 13): "0.35.0"}
CURIO = {(3, 8): "1.6", (3, 11): "1.6"}


def pairs(versions):
    return [pytest.param(one, versions[one.minor], id="%s-%s" % (one.label, versions[one.minor]))
            for one in interpreters.find_wanted() if not one.root and not one.is_system and one.minor in versions]


def assert_waits_are(document, truth):
    analyzer.assert_fits_schema(document)
    tasks = {task["name"].split(".")[-1]: task for task in document["tasks"]}
    names = {task["id"]: name for name, task in tasks.items()}
    for name, said in truth.items():
        waits = tasks[name]["waits_on"]
        assert waits["kind"] == said["kind"], (name, waits)
        assert said["address"] is None or waits["address"] == "%#x" % said["address"], (name, waits)
        holders = [names[one] for one in waits["tasks"]]
        assert holders == said["holders"], (name, waits)
        assert waits["owner_certain"] == said["certain"] and waits["timed"] == said["timed"], (name, waits)
        if name == "waits_limiter":
            assert waits["known_by"] == "the borrowers that the limiter records"
    assert document["deadlocks"] == []


def look(interpreter, library, tmp_path, path=None):
    said = tmp_path / "said"
    environment = dict(os.environ, PYTHONPATH=path) if path else None
    with living.running([interpreter.path, "-s", PROGRAM, library, str(said)], env=environment) as process:
        resting.wait_until_at_rest(process.pid)
        alive = living.report(process.pid, "--tasks", "--format", "json", "--save-core=" + str(tmp_path / "core")).json
    truth = json.loads(said.read_text())
    assert_waits_are(alive, truth)
    assert_waits_are(analyzer.json_of(tmp_path / "core", "--tasks").json, truth)


@pytest.mark.parametrize("one,version", pairs(TRIO))
def test_trio_of_the_index(one, version, tmp_path):
    look(one, "trio", tmp_path, packages_of(one, "trio==" + version))


def test_trio_of_the_distribution(system, tmp_path):
    if subprocess.run([system.path, "-s", "-c", "import trio"], capture_output=True).returncode:
        pytest.skip("%s has no trio: install python3-trio" % system.label)
    look(system, "trio", tmp_path)


@pytest.mark.parametrize("one,version", pairs(CURIO))
def test_curio_of_the_index(one, version, tmp_path):
    look(one, "curio", tmp_path, packages_of(one, "curio==" + version, binary=False))
