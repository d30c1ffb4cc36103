#!/usr/bin/env python3
"""Writes the fuzzers' first inputs below a folder: python3 make_seeds.py FOLDER.

One sub-folder a fuzzer. Everything is made here or taken from this machine's own files,
so that the repository holds no binaries.
"""
import os
import random
import struct
import subprocess
import sys
import tempfile


def write(folder, fuzzer, name, data):
    path = os.path.join(folder, fuzzer)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(data)


def note(kind, data, owner=b"CORE"):
    name = owner + b"\0"
    return struct.pack("<III", len(name), len(data), kind) + name + b"\0" * (-len(name) % 4) + \
        data + b"\0" * (-len(data) % 4)


def prstatus(tid, signal, registers):
    data = bytearray(336)
    struct.pack_into("<h", data, 12, signal)
    struct.pack_into("<i", data, 32, tid)
    for index, value in registers.items():
        struct.pack_into("<Q", data, 112 + 8 * index, value)
    return bytes(data)


def small_core():
    """Two threads, siginfo, auxv, a file range, and a stack with argc, argv and envp."""
    stack_at, size = 0x7FFE00000000, 0x3000
    stack = bytearray(size)
    strings = stack_at + size - 64
    stack[size - 64:size - 64 + 12] = b"prog\0arg\0/x\0"
    auxv = struct.pack("<QQQQQQQQ", 33, 0x7FFF00000000, 9, 0x401000, 31, strings + 9, 0, 0)
    words = struct.pack("<QQQQQ", 2, strings, strings + 5, 0, 0) + auxv
    stack[0x1000:0x1000 + len(words)] = words
    siginfo = struct.pack("<iiiiQ", 11, 0, 1, 0, 0) + bytes(104)
    psinfo = bytearray(136)
    struct.pack_into("<i", psinfo, 24, 100)
    psinfo[40:44] = b"prog"
    psinfo[56:64] = b"prog arg"
    files = struct.pack("<QQQQQ", 1, 4096, 0x400000, 0x402000, 0) + b"/bin/true\0"
    notes = (note(1, prstatus(100, 11, {16: 0x401000, 19: stack_at + 0x800, 21: 0x1000}))
             + note(3, bytes(psinfo)) + note(0x53494749, siginfo) + note(6, auxv)
             + note(0x46494C45, files) + note(1, prstatus(101, 0, {16: 0x401010, 19: stack_at}))
             + note(0x656D616E, struct.pack("<i16si16s", 100, b"first", 101, b"x" * 16), b"pystack-core"))
    loads = [(stack_at, bytes(stack), 6), (0x401000, b"\xc3" * 64, 5)]
    header_size = 64 + 56 * (1 + len(loads))
    out = [b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64,
                                                     56, 1 + len(loads), 0, 0, 0)]
    at = header_size
    out.append(struct.pack("<IIQQQQQQ", 4, 0, at, 0, 0, len(notes), 0, 4))
    at += len(notes)
    for address, data, flags in loads:
        out.append(struct.pack("<IIQQQQQQ", 1, flags, at, address, 0, len(data), len(data), 1))
        at += len(data)
    return b"".join(out) + notes + b"".join(data for _, data, _ in loads)


def small_library(folder, flags):
    """A library with debug information that the machine's own compiler makes; less than 64 KB."""
    source = os.path.join(os.path.dirname(__file__), "..", "..", "testdata", "native", "values.c")
    output = os.path.join(folder, "values.so")
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-nostdlib", *flags, "-o", output, source], check=True)
    with open(output, "rb") as file:
        return file.read()


def small_object(folder):
    """An object as a JIT compiler makes it, with an address for its code and its call frame information."""
    source = os.path.join(os.path.dirname(__file__), "..", "cases", "native", "described_code.c")
    output = os.path.join(folder, "described_code.o")
    subprocess.run(["cc", "-w", "-c", "-O1", "-g", "-o", output, source], check=True)
    with open(output, "rb") as file:
        image = bytearray(file.read())
    offset, = struct.unpack_from("<Q", image, 40)
    for index in range(struct.unpack_from("<H", image, 60)[0]):
        if struct.unpack_from("<Q", image, offset + 64 * index + 8)[0] & 2:
            struct.pack_into("<Q", image, offset + 64 * index + 16, 0x7f0000000000 + 0x1000 * index)
    return bytes(image)


def main():
    folder = sys.argv[1]
    core = small_core()
    write(folder, "fuzz_core", "small", core)
    write(folder, "fuzz_core", "cut", core[:700])
    with open("/proc/self/exe", "rb") as file:
        image = file.read(65536)
    write(folder, "fuzz_elf", "executable", image)
    write(folder, "fuzz_elf", "headers", image[:1024])
    write(folder, "fuzz_elf", "notes", note(1, bytes(20)) + note(3, bytes(range(20)), b"GNU"))
    write(folder, "fuzz_object", "object", small_object(folder))
    write(folder, "fuzz_code_names", "map", b"7f00a0 20 py::f:/a b.py\n0x7F0100 0x8 second\n")
    load = struct.pack("<IIQIIQQQQ", 0, 16 + 40 + 8, 0, 7, 7, 0x1000, 0x1000, 32, 0) + b"a name\0\0"
    write(folder, "fuzz_code_names", "dump", struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, 7, 0, 0) + 2 * load)
    lesson = struct.pack("<7I", 9, 20, 15, 2, 1, 1, 9) + b"/lib/a.so" + bytes(range(20)) + \
        struct.pack("<4Q", 0x1000, 0x1010, 0x1000, 0x2000) + b"a.c\0b.py\0"
    write(folder, "fuzz_lessons", "two", 2 * lesson)
    files = struct.pack("<8Q", 2, 4096, 0x1000, 0x2000, 0, 0x2000, 0x4000, 1)
    write(folder, "fuzz_core_notes", "files", files + b"/bin/a\0/lib/b.so\0")
    write(folder, "fuzz_core_notes", "auxv", struct.pack("<8Q", 3, 0x40, 9, 0x1000, 33, 0x7000, 0, 0))
    write(folder, "fuzz_core_notes", "slim-head", struct.pack("<IIQ", 1, 2, 1 << 30) + b"made smaller\0")
    segments = struct.pack("<QQII", 0x1000, 0x3000, 5, 0) + struct.pack("<QQII", 8, 4, 6, 0)
    write(folder, "fuzz_core_notes", "slim-segments", segments)
    write(folder, "fuzz_core_notes", "slim-holes", struct.pack("<4Q", 0x1010, 0x1020, 9, 9))
    packed = struct.pack("<QQQII", 16, 8, 100, 8, 0) + b"/bin/a\0\0"
    write(folder, "fuzz_core_notes", "slim-files", 2 * packed)
    write(folder, "fuzz_core_notes", "slim-parts", struct.pack("<6Q", 16, 0, 4096, 16, 8192, 8200))
    write(folder, "fuzz_core_notes", "slim-packages", b"/lib/a.so\0numpy\x002.0\0/b\0c\0d\0")
    write(folder, "fuzz_core_notes", "names", struct.pack("<I16s", 7, b"main") + struct.pack("<I16s", 8, b"x" * 16))
    write(folder, "fuzz_core_notes", "process", bytes(56) + b"python secret" + bytes(67))
    for name in ("fuzz_cython_symbol", "fuzz_cython_path"):
        for index, symbol in enumerate((
                b"__pyx_pw_7sklearn_4tree_5_tree_11_check_node_ndarray",
                b"__pyx_fuse_1_0__pyx_pw_8implicit_4_als_31_least_squares_cg",
                b"_ZL46__pyx_pf_8implicit_3cpu_4_als_18_least_squaresP7_objectS0_._omp_fn.0",
                b"__pyx_Upf_6unimod_berfn_8lc",
                b"__pyx_gb_3pkg_3sub_5_kern_8genexprs_8genexpr1_2generator6",
                b"__pyx_pf_15View_dot_MemoryView_10memoryview_12__repr__")):
            write(folder, name, str(index), symbol)
    write(folder, "fuzz_cython_symbol", "siblings",
          b"__pyx_gb_3pkg_3sub_5_kern_22generator\n__pyx_pf_3pkg_3sub_5_kern_20gen_fn\n"
          b"__pyx_pw_3pkg_3sub_5_kern_21gen_fn\n")
    block = b'  /* "pkg/mod.pyx":%d\n * def f():\n *     pass             # <<<<<<<<<<<<<<\n */\n  x = 1;\n'
    source = b"".join(block % line for line in range(3, 30))
    write(folder, "fuzz_cython_lines", "blocks",
          source + b"/* #### Code section: utility_code_def ### */\n" + source)
    write(folder, "fuzz_cython_lines", "xml",
          b'<Module filename="/b/m.pyx"><LineNumber src_path="/b/m.pyx" src_lineno="7" '
          b'c_linenos="20 21 12" /><LineNumber cython_lineno="9" c_linenos="30" /></Module>')
    for index, text in enumerate((b"3.11.2 (main, ", b"2.7.18rc1 (default, ", b"libpython3.7m.so.1.0", b"python3.11")):
        write(folder, "fuzz_version_text", str(index), text)
    # One unit in two slots, three sections: version 5, and GNU's 2.
    for version in (2, 5):
        write(folder, "fuzz_unit_index", "units-%d" % version, 2 * struct.pack("<IHBB5I", 24, 5, version, 8, 0, 1, 2, 25, 0))
        write(folder, "fuzz_unit_index", str(version), struct.pack("<Q4I2Q2I", 9, version, 3, 1, 2, 0, 9, 0, 1) +
              struct.pack("<9I", 1, 3, 6, 0, 10, 20, 10, 10, 4))
    common = bytes([1]) + b"zR\0" + bytes([1, 0x78, 0x10, 1, 0x1B, 0x0C, 7, 8, 0x90, 1, 0, 0])
    entry = bytes(8) + bytes([0, 0x41, 0x0E, 0x10, 0x86, 2, 0x43, 0x0D, 6, 0x5A, 0x0C, 7, 8])
    write(folder, "fuzz_cfi", "both", bytes([len(common)]) + common + entry)
    write(folder, "fuzz_cfi", "entry", entry)
    # CPython 3.11 location table: short, one-line, no column, long and none entries.
    with open("/proc/self/maps", "rb") as file:
        write(folder, "fuzz_live_maps", "own", file.read())
    write(folder, "fuzz_live_maps", "odd",
          b"1000-2000 rwxp 0 8:1 7 /a\\012b (deleted)\n2000-1000 r--p 0 0:0 0\n1800-2800 r--p 0 8:1 7 /a\n")

    with open("/proc/self/smaps", "rb") as file:
        write(folder, "fuzz_live_maps", "smaps", file.read(8192))
    write(folder, "fuzz_live_maps", "syscall", b"58 0x1 0x2 0x3 0x4 0x5 0x6 0x7fff00 0x401000\n")
    write(folder, "fuzz_line_table", "locations",
          b"\x80\x12\x01\xd0\x04\x08\xe8\x02\xf0\x03\x01\x05\x09\xf8\xa0\x00\x11")
    for index, typed in enumerate((b"self.rows[-1]['name']", b' a . b [ "it\'s" ] [ 7 ]', b".0[00012]",
                                   b"d['\\'\\\\']", b"\xc3\xbc.x" + b"[0]" * 31)):
        write(folder, "fuzz_value_path", str(index), typed)
    for index, typed in enumerate((b"len(self.rows['a b'][-1]) >= 1e3", b"'x' in name and owner is not None",
                                   b"a < -1 and len(b) and c != \"d and e\"")):
        write(folder, "fuzz_where", str(index), typed)
    pool = bytearray(4096)
    struct.pack_into("<IIQ", pool, 0, 8, 0, 0x7f0000001000 + 48 + 128)
    struct.pack_into("<III", pool, 36, 3, 48 + 640, 4096 - 64)
    struct.pack_into("<Q", pool, 48 + 128, 0x7f0000001000 + 48)
    write(folder, "fuzz_pool", "good", bytes(pool))
    for index, known in enumerate((
            b"std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, int, "
            b"std::less<int> >::at(int)::{lambda(int)#1}::operator()(a<b> const&) const",
            b"<a::B<c> as d::E<f>>::g::<(h, i<j>)>::{closure#0}", b"ns::operator< <int>((a)<(b))", b"<<<>>)(]{")):
        write(folder, "fuzz_short_name", str(index), b"\x1e" + known)
    for name, flags in (("gcc-4", ["-gdwarf-4", "-O1"]), ("gcc-5", ["-gdwarf-5", "-O2"])):
        with tempfile.TemporaryDirectory() as scratch:
            write(folder, "fuzz_debug_variables", name, small_library(scratch, flags))
    for number in range(8):
        write(folder, "fuzz_location", "random-%d" % number, random.Random(number).randbytes(130))
    report = (b'{"schema":"pystack-core/1","target":{"kind":"core","pid":12,"arguments":["a"]},"crash":{"signal":"SIGBUS"},'
              b'"running":{"host":"h","rank":{"number":7}},"threads":[{"tid":13,"name":"x","state":["crashed"],"frames":['
              b'{"kind":"native","module":"/lib/a.so","offset":"0x1f"},{"kind":"python","function":"f","file":"/x","line":3},'
              b'{"kind":"python","function":"f","file":"/x","line":3}]},{"tid":14,"frames":[]}]}\n')
    write(folder, "fuzz_report", "one", report)
    write(folder, "fuzz_report", "two", report + report.replace(b"13", b"15"))
    member = struct.pack("<QQIIII", 4096, 10, 4, 0, 0, 0) + b"a/b\0"
    write(folder, "fuzz_bundle_members", "members", member + struct.pack("<QQIIII", 0, 0, 2, 7, 1, 0) + b"c\0../a/b\0")
    write(folder, "fuzz_bundle_members", "path", b"/../a//x/../b/.")
    write(folder, "fuzz_what_runs", "record", b'pkg/"odd".so,x\r\n"pkg/""odd"".so",sha256=a,1\npkg\n')
    write(folder, "fuzz_what_runs", "metadata", b"Name: pkg \r\nVersion: 1\n\nName: x\n")
    write(folder, "fuzz_what_runs", "conda", b'{"name": "pkg", "version": "1", "files": ["lib/pkg.so"]}')
    write(folder, "fuzz_what_runs", "conda_paths",
          b'{"files": [], "name": "pkg", "paths_data": {"paths": [{"_path": "lib/pkg.so"}]}, "version": "1"}')
    write(folder, "fuzz_what_runs", "environment", b"RANK=1\0SECRET=2\0PWD=/\0PYTHONPATH=a:b\0")
    write(folder, "fuzz_source_text", "latin", b"#!/x\n# -*- coding: latin-1 -*-\r\nx = '\xe9'\r")
    write(folder, "fuzz_source_text", "japanese", b"\f\n# coding=euc_jp\n\xc6\xfc\xcb\xdc\n")
    # Objects that point to each other, with small numbers between.
    choose = random.Random(7)
    for number in range(20):
        words = b"".join(bytes([choose.choice([0, 0, 1, 2, 3, 4, 7]), choose.choice([choose.randrange(8),
                                choose.randrange(256)])]) for _ in range(512))
        write(folder, "fuzz_value", "objects-%d" % number, bytes([number | (number & 1) << 7]) + words)


if __name__ == "__main__":
    main()
