"""--tasks: what each task of asyncio waits for, as the program says itself."""
import json
import os

import pytest

import analyzer
import cores
import interpreters
import living
import resting

PROGRAM = os.path.join(cores.PROGRAMS, "task_waits.py")


def wanted():
    return [pytest.param(one, id=one.label) for one in interpreters.find_wanted()
            if one.minor >= (3, 8) and not one.root]


def assert_waits_are(document, truth, alive):
    tasks = {task["id"]: task for task in document["tasks"]}
    names = {task["id"]: name for name, said in truth.items() for task in [tasks[said["id"]]]}
    for name, said in truth.items():
        waits = tasks[said["id"]]["waits_on"]
        assert waits["kind"] == said["kind"], (name, waits)
        if "address" in said:
            assert waits["address"] == "%#x" % said["address"], name
        if "action" in said:
            assert waits["object"].endswith(".%s()" % said["action"]), name
        if "descriptor" in said:
            assert waits["descriptor"] == said["descriptor"], name
        if "pid" in said:
            assert waits["owner"]["pid"] == said["pid"], name
        if "holders" in said:
            assert [names[one] for one in waits["tasks"]] == said["holders"] and not waits["owner_certain"], name
        assert waits["timed"] == ("left" in said), name
        if "left" in said and alive:
            assert 0 < waits["time_left_s"] <= said["left"], name
        elif not alive:
            assert waits["time_left_s"] is None
    workers = [thread["tid"] for thread in document["threads"] if any(
        frame["name"] == "_worker" for frame in thread["frames"])]
    executor = tasks[truth["executor"]["id"]]["waits_on"]
    assert executor["owner"]["tid"] in workers and executor["owner_certain"]
    assert document["deadlocks"] == []


@pytest.mark.parametrize("one", wanted())
def test_each_task(one, tmp_path):
    said = tmp_path / "said"
    with living.running([one.path, "-s", PROGRAM, str(said)]) as process:
        resting.wait_until_at_rest(process.pid)
        document = living.report(process.pid, "--tasks", "--format", "json").json
        text = living.report(process.pid, "--tasks").stdout
        saved = living.report(process.pid, "--save-core=" + str(tmp_path / "core"), "--tasks")
    assert saved.returncode == analyzer.EXIT_COMPLETE, saved.describe()
    truth = json.loads(said.read_text())
    analyzer.assert_fits_schema(document)
    assert_waits_are(document, truth, True)
    assert_waits_are(analyzer.json_of(tmp_path / "core", "--tasks").json, truth, False)
    assert ', held by task "sleeps" (likely)' in text
    assert "waits for process %d" % truth["child"]["pid"] in text
