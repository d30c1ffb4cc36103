"""--tasks: asyncio's tasks, as the dying program's own cr_await, names and edges have them."""
import json

import pytest

import analyzer
import elf
import living

OTHER_SUITES = True
SLOW = True  # A third of the interpreters, unless thoroughly.


def key_of(frame):
    return [frame["file"], frame["line"], frame["name"]]


def assert_tasks_are(document, truth):
    """Every task with its name, state, frames and what it waits for."""
    found = {task["id"]: task for task in document["tasks"]}
    assert set(found) == set(truth["tasks"])
    wrong = []
    for number, said in truth["tasks"].items():
        task = found[number]
        frames = [key_of(frame) for frame in task["frames"]]
        if said["frames"] is not None and frames != said["frames"]:
            wrong.append("%s: frames %r, not %r" % (said["key"], frames, said["frames"]))
        for member in ("name", "state"):
            if task[member] != said[member]:
                wrong.append("%s: %s %r, not %r" % (said["key"], member, task[member], said[member]))
        if sorted(task["waits_for"]) != said["waits_for"]:
            wrong.append("%s: waits for %r, not %r" % (said["key"], task["waits_for"], said["waits_for"]))
        assert not task["frames_cut"]
    assert not wrong, "\n".join(wrong)
    assert [sorted(cycle) for cycle in document["task_cycles"]] == [truth["knot"]]


@pytest.mark.cases(["asyncio_tasks", "asyncio_tasks_python"])
def test_tasks_are_what_the_program_says(core):
    document = analyzer.json_of(core.path, "--tasks").json
    analyzer.assert_fits_schema(document)
    truth = core.truth["promises"]
    assert len(truth["tasks"]) >= 20
    assert_tasks_are(document, truth)
    assert not [warning for warning in document["warnings"] if warning["code"] == "tasks"]


@pytest.mark.cases(["asyncio_tasks", "asyncio_tasks_python"])
def test_the_running_task_and_its_thread(core):
    document = analyzer.json_of(core.path, "--tasks").json
    running = [task for task in document["tasks"] if task["state"] == "running"]
    assert len(running) == 1 and running[0]["thread"] == document["threads"][0]["tid"]
    assert {task["thread"] for task in document["tasks"]} == {running[0]["thread"]}
    assert [frame["name"] for frame in running[0]["frames"]] == ["die", "die_with_truth", "main"]
    on_thread = [key_of(frame) for frame in analyzer.python_frames(document["threads"][0])]
    assert on_thread[:3] == [key_of(frame) for frame in running[0]["frames"]]


@pytest.mark.cases(["asyncio_tasks"])
def test_tree_in_text(core):
    """Every task has a heading once with its frames, and the cycle is said in words."""
    text = analyzer.run("--tasks", core.path).stdout
    assert analyzer.forbidden_characters(text) == []
    tree = text[text.index("\nasyncio \u00b7 %d tasks\n" % len(core.truth["promises"]["tasks"])):]
    if core.interpreter.minor >= (3, 8):
        assert 'tasks wait for each other: "knot_1" \u2192 "knot_2" \u2192 "knot_3" \u2192 "knot_1"\n' in tree
        lines = tree.splitlines()
        at = lines.index('Task "gathers" \u00b7 waits for 2 tasks')
        children = [line for line in lines[at:at + 20] if line.startswith(("  \u251c\u2500 Task", "  \u2514\u2500 Task"))]
        assert children[0].startswith('  \u251c\u2500 Task "serve" ') and \
            children[1].startswith('  \u2514\u2500 Task "sleeps" ')
        assert sum("above: they wait for each other" in line for line in lines) == 1
        assert 'Task "created" \u00b7 not started' in lines
    assert "asyncio \u00b7" not in analyzer.run(core.path).stdout


@pytest.mark.cases(["asyncio_tasks"])
def test_tasks_without_the_dead_machines_files(core, tmp_path):
    """No file names types, none has the section of 3.14: lists and objects in memory do."""
    copy = elf.without_files(core.path, str(tmp_path))
    document = analyzer.run("--format", "json", "--tasks", "--mode", "python", copy).json
    found = {task["id"]: task for task in document["tasks"]}
    truth = core.truth["promises"]
    assert set(found) == set(truth["tasks"])
    for number, said in truth["tasks"].items():
        frames = [key_of(frame) for frame in found[number]["frames"]]
        # What only passes an await on has a type that no module names.
        if said["key"] in ("through_awaitable", "iterates"):
            assert frames and frames == said["frames"][-len(frames):]
        elif said["key"].startswith(("step_", "anext_")):
            assert frames in ([], said["frames"]), said["key"]
        elif said["frames"] is not None:
            assert frames == said["frames"], said["key"]
        assert sorted(found[number]["waits_for"]) == said["waits_for"], said["key"]


def test_equal_tasks_stand_together(interpreter, tmp_path):
    """Of a living process; a thousand tasks at one place are one entry."""
    source = tmp_path / "many.py"
    source.write_text(MANY)
    with living.running([interpreter.path, "-s", str(source)]) as process:
        document = living.report(process.pid, "--tasks", "--format", "json").json
        text = living.report(process.pid, "--tasks").stdout
        apart = living.report(process.pid, "--tasks", "--no-group").stdout
    analyzer.assert_fits_schema(document)
    waiting = [task for task in document["tasks"] if task["frames"][0]["name"] == "sleep"]
    assert len(document["tasks"]) == 1001 and len(waiting) == 1000
    main = next(task for task in document["tasks"] if task["frames"][-1]["name"] == "main")
    assert len(main["waits_for"]) == 1000 and main["state"] == "waiting"
    assert main["thread"] == process.pid
    assert text.count("1000 tasks \u00b7 waits for a timer") == 1 and text.count("sleeps ") == 1
    assert apart.count("\u251c\u2500 Task ") == 999


MANY = """
import asyncio, sys

async def sleeps():
    await asyncio.sleep(600)

async def main():
    tasks = [asyncio.ensure_future(sleeps()) for i in range(1000)]
    asyncio.get_event_loop().call_later(0.01, print, "ready")
    asyncio.get_event_loop().call_later(0.02, sys.stdout.flush)
    await asyncio.gather(*tasks)

asyncio.run(main())
"""


def test_tasks_of_descendants(system, tmp_path):
    """Each process has its own list."""
    source = tmp_path / "two.py"
    source.write_text(TWO)
    with living.running([system.path, "-s", str(source)]) as process:
        text = living.report(process.pid, "--children", "--tasks").stdout
        document = living.report(process.pid, "--children", "--tasks", "--format", "json").stdout
    assert "\nasyncio \u00b7 process %d \u00b7 1 task\n" % process.pid in text
    assert text.count("\nasyncio \u00b7 process ") == 2
    assert [len(one["tasks"]) for one in map(json.loads, document.splitlines())] == [1, 1]


TWO = """
import asyncio, ctypes, os, signal

async def main():
    asyncio.get_event_loop().call_soon(os.write, write, b"x")
    await asyncio.sleep(600)

read, write = os.pipe()
child = os.fork()
if child == 0:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # with its parent
    os.close(read)
    asyncio.run(main())
os.read(read, 1)

async def parent():
    asyncio.get_event_loop().call_soon(os.write, 1, b"ready\\n")
    await asyncio.sleep(600)
asyncio.run(parent())
"""


def test_no_asyncio(any_core):
    document = analyzer.json_of(any_core, "--tasks").json
    analyzer.assert_fits_schema(document)
    assert document["tasks"] == [] and document["task_cycles"] == []
    assert "asyncio \u00b7 no tasks\n" in analyzer.run("--tasks", any_core).stdout


def test_native_mode_has_no_tasks(any_core):
    result = analyzer.run("--tasks", "--mode", "native", any_core)
    assert result.returncode == analyzer.EXIT_USAGE and "--tasks does not go with" in result.stderr
