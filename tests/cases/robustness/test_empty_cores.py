"""Cores that have nothing to show say so, and what to do."""
import json
import os
import struct

import pytest

import analyzer
import cores

WITHOUT_MEMORY = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
with open("/proc/self/coredump_filter", "w") as file:
    file.write("0x10")
ctypes.string_at(0)
"""
# As PyInstaller's bootloader does (bootloader/src/pyi_utils_posix.c): what its child died of it dies of, too.
BOOTLOADER = """
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
const char *volatile home = "_PYI_APPLICATION_HOME_DIR";
int main(void)
{
    int status;
    pid_t child = fork();
    if (!child) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        raise(SIGSEGV);
    }
    waitpid(child, &status, 0);
    raise(WTERMSIG(status));
    return !home;
}
"""
PT_LOAD, PT_NOTE, NT_PRSTATUS = 1, 4, 1
SP_IN_PRSTATUS = 112 + 19 * 8  # struct elf_prstatus of x86-64: pr_reg, and rsp in it


def warnings_of(result):
    return {warning["code"]: warning["message"] for warning in result.json["warnings"]}


def assert_said(result, code, *words):
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    analyzer.assert_fits_schema(result.json)
    message = warnings_of(result)[code]
    assert all(word in message for word in words), message
    assert message in result.stderr


def test_core_without_memory(system):
    """What the kernel writes by coredump_filter 0x10: headers of ELF files and no memory."""
    if not cores.kernel_writes_here():
        pytest.skip("the kernel does not write core files to the current folder")

    def make(folder):
        how = cores.run_to_core([system.path, "-s", "-c", WITHOUT_MEMORY], folder, {"PATH": "/usr/bin:/bin"})
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    folder = cores.made_once("without-memory", cores.digest(WITHOUT_MEMORY, system.path), make)
    result = analyzer.json_of(os.path.join(folder, "core"))
    assert_said(result, "no-stacks", "no stacks", "coredump_filter", "0x33")
    assert all(analyzer.gaps(thread) for thread in result.json["threads"])
    text = analyzer.run(os.path.join(folder, "core")).stdout
    assert "this core has no stacks" in text and "no Python interpreter found" not in text


def blank_stacks(path, output, how_many=None, in_use=None):
    """A copy of a core with zeros for the stacks of so many of its threads, `in_use` bytes of each.

    How much of the first thread's stack is in use is else a matter of chance: the kernel puts its end anywhere
    in the last two pages.
    """
    with open(path, "rb") as file:
        image = bytearray(file.read())
    offset, = struct.unpack_from("<Q", image, 32)
    count, = struct.unpack_from("<H", image, 56)
    segments = [struct.unpack_from("<IIQQQQQQ", image, offset + i * 56) for i in range(count)]
    pointers = []
    for kind, _, at, _, _, size, _, _ in segments:
        end = at + size
        while kind == PT_NOTE and at < end:
            name, data, note = struct.unpack_from("<III", image, at)
            at += 12 + (name + 3 & ~3)
            if note == NT_PRSTATUS:
                pointers.append((struct.unpack_from("<Q", image, at + SP_IN_PRSTATUS)[0], at + SP_IN_PRSTATUS))
            at += data + 3 & ~3
    for pointer, place in pointers[:how_many]:
        for kind, _, at, address, _, size, _, _ in segments:
            if kind == PT_LOAD and address <= pointer < address + size:
                image[at:at + size] = bytes(size)
                if in_use:
                    struct.pack_into("<Q", image, place, address + size - in_use)
    output.write_bytes(image)
    return len(pointers)


@pytest.mark.cases(["threads"], slow=True)
def test_stacks_that_are_zeros(core, tmp_path):
    """As gdb 13 writes them with glibc 2.42: no end of a stack, and said of all or of how many."""
    for in_use in (1000, 4096, 20000):
        path = tmp_path / ("some-%d" % in_use)
        count = blank_stacks(core.path, path, 1, in_use)
        some = analyzer.json_of(path)
        assert_said(some, "blank-stacks", "of 1 of its %d threads" % count, "gdb")
        first = some.json["threads"][0]
        assert any("all zeros" in gap["function"] for gap in analyzer.gaps(first)), first
    assert blank_stacks(core.path, tmp_path / "all") == count > 1
    every = analyzer.json_of(tmp_path / "all")
    assert_said(every, "blank-stacks", "this core has no stacks: ", "--save-core=full")
    assert all(analyzer.gaps(thread) for thread in every.json["threads"])
    assert "blank-stacks" not in warnings_of(analyzer.json_of(core.path))


def test_core_of_a_bootloader():
    def make(folder):
        source = os.path.join(folder, "bootloader.c")
        with open(source, "w") as file:
            file.write(BOOTLOADER)
        cores.compile_c([source], os.path.join(folder, "bootloader"), "-O1")
        how = cores.run_to_core([os.path.join(folder, "bootloader")], folder, {"PATH": "/usr/bin:/bin"})
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    folder = cores.made_once("bootloader", cores.digest(BOOTLOADER, cores.kernel_writes_here()), make)
    result = analyzer.json_of(os.path.join(folder, "core"))
    assert_said(result, "bootloader", "PyInstaller", "child", "core_uses_pid")
    assert result.json["crash"]["summary"] == "raised again after its child process died of it"
    assert "bootloader" in analyzer.run(os.path.join(folder, "core")).stdout.splitlines()[2]
