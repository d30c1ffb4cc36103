"""pystack-core handle behind a real kernel.core_pattern: that of a virtual machine, only with --thorough."""
import json
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import interpreters
import machine

pytestmark = pytest.mark.skipif(analyzer.SANITIZED, reason="of memory safety test_handle.py shows as much")
HERE = os.path.dirname(os.path.abspath(__file__))
BOX = "/box"
BOX_HOME = "/opt/another/place"
NATIVE = """
#include <unistd.h>
struct order { int number; int *amount; };
int pay(struct order *order) { return *order->amount; }
int buy(int number) { struct order order = {number, 0}; return pay(&order) + 1; }
int change_user(void) { return setuid(1000); }
"""
SEGFAULT = """
import ctypes, sys, threading, time
shop = ctypes.CDLL("/program/shop.so")
def wait_for(name):
    time.sleep(600)
for number in range(2):
    threading.Thread(target=wait_for, args=("n%d" % number,), name="waiter-%d" % number, daemon=True).start()
def sell(basket):
    total = {"a": [1, 2, "three"]}
    shop.buy(len(basket))
if sys.argv[1:] == ["changes-user"]:
    shop.change_user()
sell(["one", "two"])
"""
THREADS = """
import ctypes, sys, threading, time
threading.stack_size(256 << 10)
started = threading.Barrier(int(sys.argv[1]) + 1)
def work(depth, number):
    if depth:
        work(depth - 1, number)
    else:
        started.wait()
        time.sleep(600)
for number in range(int(sys.argv[1])):
    threading.Thread(target=work, args=(number % 7, number), daemon=True).start()
started.wait()
ctypes.CDLL("/program/shop.so").buy(1)
"""
LARGE = """
import ctypes, sys
data = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(data), 4096):
    data[at] = 1
names = [{"name": str(number)} for number in range(50000)]
def sell(basket):
    ctypes.CDLL("/program/shop.so").buy(len(basket))
sell(names)
"""
GIGABYTE = 1100


def fill_image(folder, kernel):
    found = interpreters.find_wanted()
    system = interpreters.find_system() or found[-1]
    newest = found[-1]
    image = machine.Image()
    for one in {one.path: one for one in (system, newest)}.values():
        image.add_python(one)
    image.add_program("/usr/bin/pystack-core", analyzer.PROGRAM)
    (folder / "shop.c").write_text(NATIVE)
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-shared", "-fPIC",
                    "-o", folder / "shop.so", folder / "shop.c"], check=True)
    programs = {"segfault.py": SEGFAULT.encode(), "threads.py": THREADS.encode(), "large.py": LARGE.encode(),
                "shop.so": (folder / "shop.so").read_bytes()}
    for name, data in programs.items():
        image.add_bytes("/program/" + name, data)
    # The same interpreter at another path, below another root, and nothing else there.
    box = machine.Image()
    prefix = box.add_python(newest)
    for path, entry in box.entries.items():
        place = BOX + (BOX_HOME + path[len(prefix):] if path.startswith(prefix + "/") else path)
        image.add_folder(os.path.dirname(place))
        image.entries[place] = entry
    for name, data in programs.items():
        image.add_bytes(BOX + "/program/" + name, data)
    with open(os.path.join(HERE, "inside_machine.py"), "rb") as file:
        script = b"#!%s -sE\n" % system.path.encode() + file.read()
    image.add_bytes("/init", script, 0o755)
    image.add_file("/resting.py", os.path.join(HERE, "..", "support", "resting.py"))
    image.add_bytes("/keep", script, 0o755)
    image.add_bytes("/etc/group", b"root:x:0:\n")
    for place in ("/proc", "/sys", "/dev", "/tmp", "/etc/sysctl.d", BOX + "/proc", BOX + "/old"):
        image.add_folder(place)
    image.add_bytes("/plan.json", json.dumps({
        "modules": image.add_modules(kernel), "pythons": [system.path, newest.path], "megabytes": GIGABYTE, "box_home": BOX_HOME,
        "box_python": BOX_HOME + newest.path[len(prefix):]}).encode())
    return image


class Found:
    """What the machine has left behind."""

    def __init__(self, folder):
        self.told = json.loads((folder / "told.json").read_text())
        self.folder = folder
        self.root = folder.parent / "root"

    def __getitem__(self, name):
        assert "raised" not in self.told, self.told["raised"]
        found = self.told[name]
        assert not isinstance(found, dict) or "raised" not in found, found["raised"]
        return found


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the machine found; it runs once for all tests."""
    folder = tmp_path_factory.mktemp("machine")
    try:
        parts = machine.find_parts()
        image = fill_image(folder, parts[1])
        image.unpack(folder / "root")
        yield Found(machine.boot(parts, image, folder))
    finally:
        shutil.rmtree(folder)


def test_installed_and_undone(told):
    assert told["install"]["code"] == 0 and told["uninstall"]["code"] == 0, (told["install"], told["uninstall"])
    assert told["pattern"] == "|/usr/bin/pystack-core handle %P %u %g %s %t --then /keep %P\n"
    assert "kernel.core_pattern=" + told["pattern"] in told["settings"]
    assert told["after"] == told["before"] == "core\n" and told["limit after"] == told["limit before"]
    assert not told["settings left"]
    assert told["plain"][0] == -11 and re.fullmatch(r"core(\.\d+)?", "".join(told["plain"][1])), "as before: a file"


SAME = [["--all", "--locals=python", "--tasks"], ["--format", "json", "--all", "--locals=python", "--tasks"],
        ["--mode", "native"], ["--mode", "python"], ["--explain-signature"]]


def without_name(text, path):
    return text.replace(str(path), "CORE")


def look(told, path, *options):
    """Where nothing is but what the machine had: this machine's debug files would tell more."""
    there = told.root / "core"
    if there.exists():
        there.unlink()
    os.link(path, there)
    inside = 'mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/pystack-core "$@"'
    done = subprocess.run(["unshare", "-m", "sh", "-c", inside, told.root, *options, "/core"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=600,
                          env={"PATH": "/usr/bin:/bin:/usr/sbin", "LC_ALL": "C.UTF-8"})
    assert done.returncode in (0, 1), done.stderr
    return without_name(done.stdout, "/core")


def check(told, crash, root=""):
    """The whole came through, and it says no other than what was kept; the text of the report."""
    record = crash["record"]
    kept, whole = told.folder / "crashes" / record["id"], told.folder / "passed" / str(record["pid"])
    inside = "%s/%s/core" % ("/var/lib/pystack-core/crashes", record["id"])
    assert record["problem"] == "" and sorted(os.listdir(kept)) == ["core", "crash.json", "report.json", "report.txt"], (
        record, os.listdir(kept), (kept / "log").exists() and (kept / "log").read_text())
    assert crash["announced"] == whole.stat().st_size > 1000000 and (kept / "core").stat().st_size < whole.stat().st_size
    there = ["--sysroot", root] if root else []
    text = (kept / "report.txt").read_text()
    assert look(told, whole, *there) == without_name(text, inside)
    document = look(told, whole, *there, "--format", "json")
    assert document == without_name((kept / "report.json").read_text(), inside)
    for options in SAME:
        assert look(told, whole, *there, *options) == look(told, kept / "core", *there, *options), options
    assert [thread["name"] for thread in json.loads(document)["threads"]], document
    return text


def only(found):
    assert len(found["crashes"]) == 1, found
    return found["crashes"][0]


@pytest.mark.parametrize("name", ["segfault", "segfault of the other", "as a user"])
def test_a_native_library(told, name):
    assert told[name]["code"] == -11, told[name]
    crash = only(told[name])
    report = check(told, crash)
    assert "sell" in report and "pay" in report and "shop.c" in report and crash["record"]["signal"] == 11
    assert "pay" in crash["record"]["title"]
    assert crash["record"]["user"] == (1000 if name == "as a user" else 0)


def test_many_threads(told):
    crash = only(told["threads"])
    check(told, crash)
    report = json.loads((told.folder / "crashes" / crash["record"]["id"] / "report.json").read_text())
    assert len(report["threads"]) == 65


def test_a_program_that_changed_its_user(told):
    crash = only(told["changed user"])
    check(told, crash)
    assert crash["record"]["user"] == 1000


def test_five_at_once(told):
    assert told["five at once"].get("code") == [-11] * 5, told["five at once"]
    crashes = told["five at once"]["crashes"]
    assert len({crash["record"]["pid"] for crash in crashes}) == 5
    for crash in crashes:
        check(told, crash)


@pytest.mark.parametrize("name", ["in a container", "first of a container", "container with own users"])
def test_in_a_container(told, name):
    """Files by /proc/PID/root, while they are there; ids as they are outside."""
    crash = only(told[name])
    report = check(told, crash, BOX)
    assert "sell" in report and "pay" in report and "shop.c" in report, report
    assert crash["record"]["executable"].startswith(BOX_HOME)


@pytest.mark.parametrize("name", ["little memory", "no time"])
def test_what_fails_leaves_the_head(told, name):
    crash = only(told[name])
    assert told[name]["code"] == -11
    kept, whole = (told.folder / "crashes" / crash["record"]["id"], told.folder / "passed" / str(crash["record"]["pid"]))
    head = (kept / "head").read_bytes()
    assert crash["record"]["problem"] and "core" not in os.listdir(kept), crash
    assert crash["announced"] == whole.stat().st_size > 1000000, "the kernel went on, and all of it was passed on"
    with open(whole, "rb") as file:
        assert len(head) > 1000 and file.read(len(head)) == head


def test_a_large_process(told):
    """Nobody wants the core: it goes as soon as its memory is read."""
    crash = only(told["a gigabyte"])
    assert told["a gigabyte"]["code"] == -11 and crash["record"]["problem"] == "", told["a gigabyte"]
    kept = told.folder / "crashes" / crash["record"]["id"]
    small = analyzer.run("--sysroot", told.root, "--locals", kept / "core")
    assert "sell" in small.stdout and "pay" in small.stdout, small.describe()
    assert (kept / "core").stat().st_size < (GIGABYTE << 20) / 100
    assert (kept / "report.txt").read_text().count("sell") and crash["record"]["held_ms"] < 60000


def test_other_commands(told):
    commands = told["commands"]
    assert commands["doctor"]["code"] == 0 and "pystack-core crashes" in commands["doctor"]["out"], commands["doctor"]
    assert re.search("good +core limit +does not count", commands["doctor"]["out"]), commands["doctor"]
    assert "sell" in commands["ci"]["out"] + commands["ci"]["err"], commands["ci"]
    assert commands["ci"]["code"] == 139 and len(commands["ci-ids"]) == 1, commands["ci"]
    assert commands["user-lists"]["code"] == 2 and "Permission denied" in commands["user-lists"]["err"], commands["user-lists"]
    assert commands["user-installs"]["code"] == 2 and "root" in commands["user-installs"]["err"], commands["user-installs"]


def test_a_damaged_store(told):
    store = told["damaged store"]
    assert store["list"]["code"] == 0 and store["list"]["out"].count("its record cannot be read") == 3, store["list"]
    listed = [json.loads(line) for line in store["json"]["out"].splitlines()]
    assert len(listed) == store["good"] + 3 and sum(one["problem"].startswith("its record") for one in listed) == 3
    assert "stranger" in store["left"] and store["etc"]
