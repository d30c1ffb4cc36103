"""Input of a few megabytes that a careless reader multiplies: seconds and megabytes, and a word about what is left out."""
import contextlib
import os
import re
import struct
import subprocess

import pytest

import analyzer
import cores
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
    result = analyzer.run("--format", "json", core, **LIMITS)
    analyzer.assert_fits_schema(result.json)
    assert warned(result, "files")


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


@pytest.mark.skipif(analyzer.SANITIZED, reason="minutes, and past the time that a look may take")
@pytest.mark.parametrize("wait", ["wait", "gather"] if analyzer.THOROUGH else ["gather"])
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


# Each of the tasks stands in one and the same deep generator.
SHARED = """
import asyncio, signal, sys, types
sys.setrecursionlimit(1000000)

@types.coroutine
def innermost():
    while True:
        yield

def outer(inner):
    yield from inner

@types.coroutine
def outermost(inner):
    yield from inner

async def task(inner):
    await outermost(inner)

async def last():
    print("ready", flush=True)
    signal.pause()

async def main():
    deep = innermost()
    for _ in range(1500):
        deep = outer(deep)
    await asyncio.gather(*[task(deep) for _ in range(1500)], last())

asyncio.run(main())
"""

# Each waits for the next one, and the last for the first; their names have a kilobyte.
CYCLE = """
import asyncio
COUNT = 90000

async def child(i):
    await tasks[(i + 1) % COUNT]

async def main():
    global tasks
    tasks = [asyncio.ensure_future(child(i)) for i in range(COUNT)]
    for i, task in enumerate(tasks):
        task.set_name(chr(257) * 240 + str(i))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    print("ready", flush=True)
    await asyncio.sleep(100000)

asyncio.run(main())
"""


@contextlib.contextmanager
def running(tmp_path, text):
    program = tmp_path / "program.py"
    program.write_text(text)
    interpreter = [item for item in interpreters.find_wanted() if item.minor >= (3, 12)][0]
    with living.running([interpreter.path, program]) as process:
        yield process


@pytest.mark.skipif(analyzer.SANITIZED, reason="minutes, and past the time that a look may take")
def test_tasks_with_one_deep_chain(tmp_path):
    """1,500 times 1,500 frames: a million are looked at, and of each task some."""
    with running(tmp_path, SHARED) as process:
        text = analyzer.run("--tasks", "--no-group", "--no-sandbox", "--pid", process.pid, **LIMITS).stdout
    assert "1502 tasks" in text
    assert text.count("further frames could not be read") > 200


@pytest.mark.skipif(analyzer.SANITIZED or not analyzer.THOROUGH, reason="ten seconds")
def test_cycle_of_tasks_with_long_names(tmp_path):
    """More is read of it than there is time in a stop: what was read by then is shown."""
    with running(tmp_path, CYCLE) as process:
        result = analyzer.run("--tasks", "--format", "json", "--no-sandbox", "--pid", process.pid, **LIMITS)
    assert len(result.json["tasks"]) > 20000


# ---- files of code, and what is walked by them ----

DEEP = """
#include <stdlib.h>
__attribute__((noinline)) static int deeper(int a)
{
    volatile char room[16] = {(char)a};
    if (!a)
        abort();
    return deeper(a - 1) + room[0];
}
int main(void) { return deeper(100000) + 1; }
"""


def crash(folder, source, change=None):
    """The core of a program that is changed before it runs."""
    if not cores.kernel_writes_here():
        pytest.skip("the kernel writes no core files here")
    (folder / "program.c").write_text(source)
    cores.compile_c([str(folder / "program.c")], str(folder / "program"), "-g", "-O1", "-fno-optimize-sibling-calls")
    if change:
        change(folder / "program")
    subprocess.run(["sh", "-c", "ulimit -c unlimited; exec ./program"], cwd=folder, check=False, stderr=subprocess.DEVNULL)
    return [path for path in folder.iterdir() if path.name.startswith("core")][0]


def repeat_thread(core, times):
    """More threads, all with the registers of the first one."""
    data = bytearray(core.read_bytes())
    first, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    for at in range(first, first + count * hostile.SEGMENT.size, hostile.SEGMENT.size):
        segment = list(hostile.SEGMENT.unpack_from(data, at))
        if segment[0] != hostile.PT_NOTE:
            continue
        notes = bytes(data[segment[2]:segment[2] + segment[5]])
        size = len(hostile.note(hostile.NT_PRSTATUS, bytes(hostile.STATUS_SIZE)))
        tid = size - hostile.STATUS_SIZE + hostile.STATUS_PID
        notes += b"".join(notes[:tid] + struct.pack("<I", 1 << 20 | i) + notes[tid + 4:size] for i in range(times))
        segment[2], segment[5] = len(data), len(notes)
        hostile.SEGMENT.pack_into(data, at, *segment)
        data += notes
    core.write_bytes(data)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="a core of x86-64 is written")
def test_threads_that_share_one_deep_stack(tmp_path):
    core = crash(tmp_path, DEEP)
    repeat_thread(core, 2000)
    result = analyzer.run("--all", core, **LIMITS)
    assert result.stdout.count("more than 1000000 native frames in all stacks") >= 1
    assert "main" in result.stdout


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="a core of x86-64 is written")
def test_report_of_a_million_frames(tmp_path):
    """300 megabytes of JSON: it is cut, and says so."""
    core, report = crash(tmp_path, DEEP), tmp_path / "report.json"
    repeat_thread(core, 2000)
    result = analyzer.run("--format", "json", "-o", report, core, **LIMITS)
    assert result.returncode == analyzer.EXIT_PARTIAL and "the report is cut" in result.stderr
    assert report.stat().st_size < 129 << 20
    with open(report, "rb") as file:
        file.seek(-3000, os.SEEK_END)
        assert b'"report-cut"' in file.read()


def uleb(value):
    data = bytearray()
    while value >= 128:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes(data) + bytes([value])


def share_abbreviations(program):
    """DWARF 4, 7.5: half a million units whose entry is the last of a table of 250,000."""
    count = 250000
    table = b"".join(uleb(i) + b"\x34\0\0\0" for i in range(1, count)) + uleb(count) + b"\x11\0\x11\x01\x12\x06\0\0\0"
    entry = uleb(count) + struct.pack("<QI", 0x401000, 16)
    unit = struct.pack("<IHIB", len(entry) + 7, 4, 0, 8) + entry
    for name, data in ((".debug_info", unit * 400000), (".debug_abbrev", table)):
        part = program.with_name("part" + name)
        part.write_bytes(data)
        subprocess.run(["objcopy", "--update-section", "%s=%s" % (name, part), program], check=True)
        part.unlink()
    subprocess.run(["objcopy", "--remove-section", ".debug_aranges", program], check=True)


def test_units_that_share_one_table(tmp_path):
    core = crash(tmp_path, DEEP.replace("100000", "5"), share_abbreviations)
    result = analyzer.run("--format", "json", core, **LIMITS)
    assert warned(result, "debug-info-limit")


FUNCTIONS = 300
MANY = ("#include <stdlib.h>\n" + "".join("void f%d(void);\n" % i for i in range(FUNCTIONS)) + "".join(
    "__attribute__((noinline)) void f%d(void) { f%d(); __asm__ volatile(\"\"); }\n" % (i, i + 1)
    for i in range(FUNCTIONS - 1)) + "void f%d(void) { abort(); }\nint main(void) { f0(); }\n" % (FUNCTIONS - 1))


@pytest.mark.parametrize("name", [b"x" * 19000000, b"_ZN" + b"1aI" * 6300000] if analyzer.THOROUGH else [b"x" * 19000000],
                         ids=lambda name: name[:4].decode())
def test_functions_that_share_one_long_name(name, tmp_path):
    """Each has another end of it."""
    def share(program):
        data = bytearray(program.read_bytes())
        table, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
        symbols, = (header for header in headers if header[1] == 2)  # elf.h, SHT_SYMTAB
        texts = headers[symbols[6]]
        old = bytes(data[texts[4]:texts[4] + texts[5]])
        struct.pack_into("<QQ", data, table + 64 * symbols[6] + 24, len(data), len(old) + len(name) + 1)
        data += old + name + b"\0"
        shared = 0
        for at in range(symbols[4], symbols[4] + symbols[5], 24):
            if re.match(rb"f[0-9]+\0", old[struct.unpack_from("<I", data, at)[0]:][:8]):
                struct.pack_into("<I", data, at, len(old) + shared)
                shared += 1
        assert shared == FUNCTIONS
        program.write_bytes(data)
    core = crash(tmp_path, MANY, share)
    result = analyzer.run("--format", "json", core, **LIMITS)
    functions = [frame["function"] for frame in result.json["threads"][0]["frames"]]
    assert "main" in functions and len([one for one in functions if one and len(one) > 1000]) > FUNCTIONS - 5


def test_functions_of_long_silent_names(tmp_path):
    """Rust's back references: four kilobytes that stand for 2 ** 20 paths of nine hundred steps that print one letter."""
    def name(number):
        text = "INvC5a%04d1f" % number
        before = len(text)
        text += "Nv" * 900 + "C1a" + "0" * 900
        for _ in range(20):
            here = len(text)
            text += "T" + 2 * ("B%s_" % base_62(before - 1)) + "E"
            before = here
        return "_R" + text + "E"

    def base_62(number):
        digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        return (base_62(number // 62) if number >= 62 else "") + digits[number % 62]

    count = 200
    source = "#include <stdlib.h>\n" + "".join(
        '__attribute__((noinline)) int f%d(int a) __asm__("%s");\n' % (i, name(i)) for i in range(count)) + "".join(
        "int f%d(int a) { return f%d(a) + 1; }\n" % (i, i - 1) for i in range(1, count))
    core = crash(tmp_path, source + "int f0(int a) { abort(); return a; }\nint main(void) { return f%d(1); }\n" % (count - 1))
    result = analyzer.run("--format", "json", core, **LIMITS)
    assert warned(result, "symbol-names")
    functions = [frame["function"] for frame in result.json["threads"][0]["frames"]]
    assert "main" in functions and any(one and one.startswith("a0000::f::<a, (a, a), ") for one in functions), functions[:9]


# ---- JSON ----

@pytest.mark.parametrize("value", ["{}", "[]", "1"])
def test_reports_of_small_values(value, tmp_path):
    """An empty object takes 65 times as much memory as text."""
    report = tmp_path / "report.json"
    report.write_text("[" + (value + ",") * (20000000 // (len(value) + 1)) + "1]")
    result = analyzer.run("summary", report, **LIMITS)
    assert result.returncode == analyzer.EXIT_NOTHING
    assert "would take too much memory" in result.stderr


@pytest.mark.parametrize("start, size", [(0xfffffffffffff000, 0xfff), (0x7fffffffe000, 0x7fff800000001fff)], ids=["last", "huge"])
def test_memory_that_is_not_in_the_core(start, size, tmp_path):
    """A mapping without bytes: the last page of all, which nothing follows; petabytes, which nobody walks over."""
    data = bytearray(open(cores.make_core("threads", interpreters.find_wanted()[-1]).path, "rb").read())
    table, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    last = max(at for at in range(table, table + 56 * count, 56) if struct.unpack_from("<I", data, at)[0] == 1)
    struct.pack_into("<IQQQQQ", data, last + 4, 6, *struct.unpack_from("<Q", data, last + 8), start, start, 0, size)
    (tmp_path / "core").write_bytes(data)
    for options in ((), ("--verify",)):
        result = analyzer.run("heap", *options, tmp_path / "core", **LIMITS)
        assert result.returncode in (0, 1) and re.search(r"\bobjects\b", result.stdout), result.describe()


@pytest.mark.parametrize("times", [100, 20000])
def test_memory_that_shares_its_bytes(times, tmp_path):
    """Segments that all claim the bytes of the largest one: gigabytes of memory in some megabytes."""
    data = bytearray(open(cores.make_core("threads", interpreters.find_wanted()[-1]).path, "rb").read())
    table, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    headers = [struct.unpack_from("<IIQQQQQQ", data, table + 56 * i) for i in range(count)]
    large = max((header for header in headers if header[0] == 1 and header[1] & 2), key=lambda header: header[5])
    step = (large[5] | 0xfffff) + 1
    # Behind all other memory, as a kernel writes them: by their addresses.
    start = (max(header[3] + header[6] for header in headers if header[3] < 1 << 47) | 0xfffff) + 1
    headers = [header for header in headers if header[3] < 1 << 47]
    headers += [(1, 6, large[2], start + step * i, 0, large[5], large[5], 4096) for i in range(times)]
    struct.pack_into("<Q", data, 32, len(data))
    struct.pack_into("<H", data, 56, len(headers))
    (tmp_path / "core").write_bytes(data + b"".join(struct.pack("<IIQQQQQQ", *header) for header in headers))
    result = analyzer.run("heap", tmp_path / "core", **LIMITS)
    assert result.returncode == 1 and re.search(r"\bobjects\b", result.stdout), result.describe()
    assert "pieces of memory claim the same bytes of the core file as others" in result.stderr
