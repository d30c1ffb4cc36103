"""Input of a few megabytes that a careless reader multiplies: seconds and megabytes, and a word about what is left out."""
import pytest

import analyzer
import hostile
import interpreters
import living

# What any input of up to 20 MB may cost.
LIMITS = dict(timeout=5, memory=500 * 1000 * 1000)

TASKS = """
import asyncio, sys

async def child(event):
    await event.wait()

async def parent(children):
    await (asyncio.wait(children) if sys.argv[1] == "wait" else asyncio.gather(*children))

async def main():
    event = asyncio.Event()
    children = [asyncio.ensure_future(child(event)) for _ in range(1500)]
    parents = [asyncio.ensure_future(parent(children)) for _ in range(1500)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    print("ready", flush=True)
    await asyncio.gather(*parents)

asyncio.get_event_loop().run_until_complete(main())
"""


def warned(result, code):
    analyzer.assert_fits_schema(result.json)
    return code in [warning["code"] for warning in result.json["warnings"]]


def test_notes_that_are_listed_again_and_again(tmp_path):
    notes = b"".join(hostile.thread(1000 + i) for i in range(300))
    core = hostile.core(tmp_path / "core", notes, times=4000)
    result = analyzer.run("--format", "json", core, **LIMITS)
    assert len(result.json["threads"]) == 300
    assert warned(result, "core-notes-repeated")


def test_thread_that_is_there_twice(tmp_path):
    core = hostile.core(tmp_path / "core", b"".join(hostile.thread(7 + i % 2) for i in range(20000)))
    result = analyzer.run("--format", "json", core, **LIMITS)
    assert [thread["tid"] for thread in result.json["threads"]] == [7, 8]
    assert warned(result, "core-threads-repeated")


def test_threads_without_ids(tmp_path):
    """Whoever writes a core without knowing them leaves them 0: these are threads all the same."""
    core = hostile.core(tmp_path / "core", b"".join(hostile.thread(0) for i in range(3)))
    assert len(analyzer.run("--format", "json", core, **LIMITS).json["threads"]) == 3


def test_numbers_that_are_no_thread_ids(tmp_path):
    core = hostile.core(tmp_path / "core", b"".join(map(hostile.thread, (0xffffffff, 0x80000000, 5))))
    result = analyzer.run("--format", "json", core, **LIMITS)
    analyzer.assert_fits_schema(result.json)
    assert [thread["tid"] for thread in result.json["threads"]] == [None, None, 5]


def test_many_mapped_files(tmp_path):
    names = hostile.file_note(["/nowhere/%d.so" % i for i in range(200000)])
    core = hostile.core(tmp_path / "core", hostile.thread(1) + names)
    analyzer.assert_fits_schema(analyzer.run("--format", "json", core, **LIMITS).json)


@pytest.mark.parametrize("end", ["\n", "\r"], ids=["newline", "carriage return"])
def test_source_of_nothing_but_ends_of_lines(tmp_path, end):
    source = tmp_path / "program.py"
    source.write_text("import signal\nprint('ready', flush=True)\nsignal.pause()  # here\n")
    interpreter = interpreters.find_system() or interpreters.find_wanted()[-1]
    with living.running([interpreter.path, source]) as process:
        assert "# here" in living.report(process.pid).stdout
        with open(source, "w", newline="") as file:
            file.write(2 * end + "# shown" + end)
            for _ in range(60):
                file.write(1000000 * end)
        assert "# shown" in living.report(process.pid, **LIMITS).stdout


def test_names_of_many_parts(tmp_path):
    """Each part may end the module's name: the symbols of one text are asked about one another."""
    symbols = ["__pyx_pw_" + "_".join("%da%d" % (1 + len(str(i % 1000)), i % 1000) for _ in range(40)) + "_%df" % i
               for i in range(20000)]
    (tmp_path / "symbols").write_text("\n".join(symbols) + "\n")
    with open(tmp_path / "symbols") as text:
        result = analyzer.run("demangle", stdin=text, **LIMITS)
    lines = result.stdout.splitlines()
    assert len(lines) == len(symbols)
    assert lines[0] != symbols[0] and lines[-1] == symbols[-1]  # what would take too long stays as it is


@pytest.mark.parametrize("wait", ["wait", "gather"])
def test_tasks_that_all_wait_for_all(wait, tmp_path):
    """1,500 times 1,500: each of the one has a callback in each of the others."""
    program = tmp_path / "program.py"
    program.write_text(TASKS)
    interpreter = [item for item in interpreters.find_wanted() if item.minor >= (3, 8)][0]
    with living.running([interpreter.path, program, wait]) as process:
        result = analyzer.run("--tasks", "--format", "json", "--no-sandbox", "--pid", process.pid, **LIMITS)
        assert warned(result, "tasks-waits")
        assert len(result.json["tasks"]) > 3000
        text = analyzer.run("--tasks", "--no-sandbox", "--pid", process.pid, **LIMITS)
        assert "not all of what tasks wait for is shown" in text.stderr
