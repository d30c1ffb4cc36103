"""Small input that becomes large when it is unpacked, put into a tree or looked for: seconds, megabytes, and a word."""
import gzip
import json
import os
import shutil
import struct
import subprocess
import zlib

import pytest

import analyzer
import cores
import made_reports

# What any input of up to 20 MB may cost.
LIMITS = dict(timeout=5, memory=500 * 1000 * 1000)
PROGRAM = "#include <stdlib.h>\nint main(void) { abort(); }\n"
SHF_COMPRESSED, ELFCOMPRESS_ZLIB = 0x800, 1  # elf.h


def zeros_of_zlib(megabytes):
    packer = zlib.compressobj(6)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(megabytes)) + packer.flush()


def mark_compressed(program, name):
    """Sets the flag in the section's header, which objcopy does not for bytes that it is given."""
    data = bytearray(program.read_bytes())
    table, count, names = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 60)
    texts = struct.unpack_from("<Q", data, table + 64 * names + 24)[0]
    for at in range(table, table + 64 * count, 64):
        start = texts + struct.unpack_from("<I", data, at)[0]
        if data[start:data.index(0, start)].decode() == name:
            flags = struct.unpack_from("<Q", data, at + 8)[0]
            struct.pack_into("<Q", data, at + 8, flags | SHF_COMPRESSED)
    program.write_bytes(data)


def crash(folder, sections, compressed=True):
    if not cores.kernel_writes_here():
        pytest.skip("the kernel writes no core files here")
    program = folder / "program"
    (folder / "program.c").write_text(PROGRAM)
    cores.compile_c([str(folder / "program.c")], str(program), "-g", "-O1")
    for name, data in sections.items():
        (folder / "part").write_bytes(data)
        change = "--update-section" if not name.startswith(".z") else "--add-section"
        subprocess.run(["objcopy", change, "%s=%s" % (name, folder / "part"), program], check=True)
        if not name.startswith(".z"):
            continue
        subprocess.run(["objcopy", "--remove-section", name.replace(".z", "."), program], check=True)
    for name in sections if compressed else ():
        mark_compressed(program, name)
    subprocess.run(["sh", "-c", "ulimit -c unlimited; exec ./program"], cwd=folder, check=False, stderr=subprocess.DEVNULL)
    return [path for path in folder.iterdir() if path.name.startswith("core")][0]


@pytest.mark.parametrize("unwinder", ["libunwind", "libdw"])
@pytest.mark.parametrize("form", ["flag", "name"])
def test_debug_information_that_becomes_600_megabytes(form, unwinder, tmp_path):
    """All of it is zeros. libdw would decompress each section when it opens the file."""
    size, data = 300 << 20, zeros_of_zlib(300)
    names = [".debug_info", ".debug_line"]
    if form == "flag":
        head = struct.pack("<IIQQ", ELFCOMPRESS_ZLIB, 0, size, 1)
    else:
        head, names = b"ZLIB" + struct.pack(">Q", size), [name.replace(".", ".z") for name in names]
    core = crash(tmp_path, {name: head + data for name in names}, form == "flag")
    result = analyzer.run("--format", "json", "--unwinder", unwinder, core, **LIMITS)
    analyzer.assert_fits_schema(result.json)
    assert "debug-info-limit" in [warning["code"] for warning in result.json["warnings"]]
    assert "main" in [frame["function"] for frame in result.json["threads"][0]["frames"]]


def test_debug_information_that_is_compressed(tmp_path):
    core = crash(tmp_path, {})
    subprocess.run(["objcopy", "--compress-debug-sections", tmp_path / "program"], check=True)
    frames = analyzer.run("--format", "json", core, **LIMITS).json["threads"][0]["frames"]
    assert [frame["line"] for frame in frames if frame["function"] == "main"] == [2]


# ---- reports ----

def report(number, **more):
    return dict(made_reports.report("core.%d" % number, [], title="cause %d" % number), **more)


def write(folder, reports):
    path = folder / "reports.ndjson"
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in reports))
    assert path.stat().st_size <= 20 << 20
    return path


FORMATS = ["text", "groups", "markdown", "github", "html", "junit", "sarif", "satyr", "sentry"]


@pytest.mark.parametrize("form", FORMATS if analyzer.THOROUGH else ["html", "sarif"])
def test_reports_of_empty_frames(form, tmp_path):
    """A thousand, each of them ninety times as large in memory: some are shown, the others are told of."""
    frames = [{"state": ["crashed"], "frames": [{}] * 5000}]
    path = write(tmp_path, [report(i, threads=frames) for i in range(1000)])
    result = analyzer.run("triage", "--reports", path, "--format", form, **LIMITS)
    assert result.returncode == analyzer.EXIT_PARTIAL


@pytest.mark.parametrize("form", FORMATS if analyzer.THOROUGH else ["satyr"])
@pytest.mark.parametrize("what", ["frames", "warnings", "members"] if analyzer.THOROUGH else ["frames"])
def test_report_with_much_of_one_thing(what, form, tmp_path):
    frame = {"kind": "python", "function": "f", "file": "/a", "line": 1, "hidden": False}
    threads = [made_reports.thread(1, [frame] * (250000 if what == "frames" else 1))]
    deadlock = {"kind": "threads", "certain": True, "members": [{"tid": 1, "waits_for": None}] * 500000}
    one = report(1, threads=threads, warnings=[{"code": "x", "message": "m"}] * (600000 if what == "warnings" else 0),
                 deadlocks=[deadlock] if what == "members" else [])
    result = analyzer.run("triage", "--reports", write(tmp_path, [one]), "--format", form, **LIMITS)
    assert result.returncode == analyzer.EXIT_COMPLETE and result.stdout


@pytest.mark.parametrize("form", FORMATS if analyzer.THOROUGH else ["github", "sarif"])
def test_names_of_a_hundred_thousand_folders(form, tmp_path):
    """Each end of a file's name may be one of the repository."""
    frames = [made_reports.frame("f" * 100000, "/\x02&" * 100000, 1, kind="native") for _ in range(20)]
    path = write(tmp_path, [report(1, threads=[made_reports.thread(1, frames)])])
    result = analyzer.run("triage", "--reports", path, "--format", form, **LIMITS)
    assert result.returncode == analyzer.EXIT_COMPLETE and result.stdout


# ---- packed cores ----

@pytest.mark.skipif(not analyzer.THOROUGH, reason="half a minute")
@pytest.mark.parametrize("packer", ["zstd", "gzip"])
def test_core_that_unpacks_to_many_gigabytes(packer, tmp_path):
    if not shutil.which(packer):
        pytest.skip("no %s" % packer)
    core, packed = crash(tmp_path, {}), tmp_path / "packed"
    with open(packed, "wb") as file:
        if packer == "gzip":
            zeros = gzip.compress(bytes(64 << 20))
            file.write(gzip.compress(core.read_bytes()) + zeros * 300)  # members, one behind the other
        else:
            subprocess.run("(cat %s; head -c 60G /dev/zero) | zstd -q -1" % core, shell=True, stdout=file, check=True)
    assert os.path.getsize(packed) <= 20 << 20
    result = analyzer.run("--format", "json", packed, **LIMITS)
    assert "takes long to unpack" in result.stderr
    assert "main" in [frame["function"] for frame in result.json["threads"][0]["frames"]]
