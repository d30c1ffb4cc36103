"""What is not a whole core file: the right exit code, one clear line, no crash, no hang."""
import os
import random
import struct
import subprocess

import pytest

import analyzer
import elf

LIMITS = dict(timeout=10, memory=2 * analyzer.GIGABYTE)


def assert_refused(path, *options):
    """Nothing could be shown: exit 2, nothing on stdout, one line on stderr that names the file."""
    result = analyzer.run(*options, path, **LIMITS)
    assert result.returncode == analyzer.EXIT_NOTHING, result.describe()
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("pystack-core: "), result.describe()
    assert os.path.basename(str(path)) in lines[0]
    assert analyzer.forbidden_characters(result.stderr) == []
    return lines[0]


def assert_shown_or_refused(path):
    """The rest of a damaged core: shown with what is missing named, or refused properly."""
    result = analyzer.run("--format", "json", path, **LIMITS)
    if result.returncode == analyzer.EXIT_NOTHING:
        assert_refused(path)
    else:
        assert result.returncode in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL), result.describe()
        analyzer.assert_fits_schema(result.json)
    return result


def sparse_copy(source, target):
    subprocess.run(["cp", "--sparse=always", source, target], check=True)
    return target


def test_nonexistent(tmp_path):
    assert "No such file" in assert_refused(tmp_path / "nothing-here")


def test_directory(tmp_path):
    assert "irectory" in assert_refused(tmp_path)


def test_empty(tmp_path):
    path = tmp_path / "empty"
    path.touch()
    assert "empty" in assert_refused(path) or "not an ELF" in assert_refused(path)


def test_text(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("This is not a core file.\n" * 1000)
    assert_refused(path)


PACKED = {
    "gzip": b"\x1f\x8b\x08\0", "bzip2": b"BZh91AY", "xz": b"\xfd7zXZ\0", "zstd": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18", "apport-unpack": b"ProblemType: Crash\n"}


@pytest.mark.parametrize("tool", PACKED)
def test_packed(tmp_path, tool):
    """What is no more than the head of something packed; of apport's the sentence names the tool that unpacks it."""
    path = tmp_path / "packed"
    path.write_bytes(PACKED[tool] + bytes(1000))
    wanted = " apport-unpack " if tool == "apport-unpack" else "compressed"
    assert wanted in assert_refused(path)


def test_process_id_as_core(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--pid 4711" in assert_refused("4711")


@pytest.mark.parametrize("option", [(), ("--format", "json"), ("--mode", "python"), ("--mode", "native")],
                         ids=" ".join)
def test_executable(option):
    assert "core" in assert_refused(os.path.realpath("/bin/ls"), *option)


def test_object_file(tmp_path):
    source, path = tmp_path / "one.c", tmp_path / "one.o"
    source.write_text("int one;\n")
    subprocess.run(["cc", "-c", "-o", path, source], check=True)
    assert_refused(path)


@pytest.mark.parametrize("change", [
    pytest.param((elf.E_MACHINE, struct.pack("<H", 183)), id="aarch64"),
    pytest.param((elf.E_MACHINE, struct.pack("<H", 243)), id="riscv"),
    pytest.param((elf.EI_CLASS, b"\x01"), id="32-bit"),
    pytest.param((elf.EI_DATA, b"\x02"), id="big-endian"),
    pytest.param((elf.EI_VERSION, b"\x09"), id="elf-version"),
    pytest.param((0, b"\x7fELG"), id="magic"),
    pytest.param((elf.E_PHOFF, struct.pack("<Q", 1 << 62)), id="headers-outside"),
    pytest.param((elf.E_PHNUM, struct.pack("<H", 0)), id="no-headers"),
])
def test_foreign_or_wrong_header(any_core, tmp_path, change):
    path = sparse_copy(any_core, tmp_path / "changed")
    with open(path, "r+b") as file:
        file.seek(change[0])
        file.write(change[1])
    assert_refused(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(any_core, tmp_path):
    path = sparse_copy(any_core, tmp_path / "secret")
    os.chmod(path, 0)
    assert "ermission" in assert_refused(path)


def test_fifo(tmp_path):
    """Nobody writes to it: it must not be waited for."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    assert_refused(path)


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_device(device):
    assert_refused(device)


def test_missing_executable(any_core, tmp_path):
    result = analyzer.run(any_core, tmp_path / "no-such-python", **LIMITS)
    assert result.returncode == analyzer.EXIT_NOTHING or result.returncode == analyzer.EXIT_PARTIAL
    assert "no-such-python" in result.stderr
    assert all(line.startswith("pystack-core: ") for line in result.stderr.splitlines())


def test_another_executable(any_core):
    """An executable whose build-id does not fit is named and not used."""
    result = analyzer.run(any_core, os.path.realpath("/bin/ls"), **LIMITS)
    assert result.returncode in (analyzer.EXIT_NOTHING, analyzer.EXIT_PARTIAL), result.describe()
    assert os.path.realpath("/bin/ls") in result.stderr


@pytest.mark.parametrize("size", [64, 512, 4096, 16 << 10, 64 << 10, 1 << 20])
def test_truncated_to(any_core, tmp_path, size):
    path = sparse_copy(any_core, tmp_path / "short")
    os.truncate(path, size)
    result = assert_shown_or_refused(path)
    assert result.returncode != analyzer.EXIT_COMPLETE, "a truncated core cannot be complete"


@pytest.mark.parametrize("percent", [25, 50, 75, 90, 99])
@pytest.mark.cases(["threads"])
def test_truncated_to_percent(core, tmp_path, percent):
    """Notes and the lower threads are still there: they are shown, and the rest is named."""
    path = sparse_copy(core.path, tmp_path / "short")
    os.truncate(path, os.path.getsize(path) * percent // 100)
    result = assert_shown_or_refused(path)
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    document = result.json
    assert len(document["threads"]) == 6
    assert any("truncated" in warning["message"] or "cut" in warning["message"]
               for warning in document["warnings"]), document["warnings"]
    assert all(thread["frames"] for thread in document["threads"] if thread["tid"])


def note_segment(path):
    header = next(header for header in elf.program_headers(path) if header.type == elf.PT_NOTE)
    return header.offset, header.filesz


@pytest.mark.parametrize("seed", range(5))
def test_garbage_notes(any_core, tmp_path, seed):
    path = sparse_copy(any_core, tmp_path / "noise")
    offset, size = note_segment(path)
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(random.Random(seed).randbytes(size))
    assert_shown_or_refused(path)


@pytest.mark.parametrize("value", [0, 1, 0x7fffffff, 0xffffffff])
@pytest.mark.parametrize("field", [0, 4], ids=["namesz", "descsz"])
def test_absurd_note_sizes(any_core, tmp_path, field, value):
    path = sparse_copy(any_core, tmp_path / "sizes")
    offset, _ = note_segment(path)
    with open(path, "r+b") as file:
        file.seek(offset + field)
        file.write(struct.pack("<I", value))
    assert_shown_or_refused(path)


@pytest.mark.parametrize("count", [0, 1 << 32, (1 << 64) - 1])
def test_absurd_file_note(any_core, tmp_path, count):
    """NT_FILE begins with a count."""
    path = sparse_copy(any_core, tmp_path / "files")
    note = next(note for note in elf.notes(path) if note.type == elf.NT_FILE)
    with open(path, "r+b") as file:
        file.seek(note.offset)
        file.write(struct.pack("<Q", count))
    assert_shown_or_refused(path)


def test_segments_that_overlap_and_lie(any_core, tmp_path):
    """Every PT_LOAD claims the whole address space."""
    path = sparse_copy(any_core, tmp_path / "overlap")
    with open(path, "r+b") as file:
        for header in elf.program_headers(path):
            if header.type == elf.PT_LOAD:
                file.seek(header.at + elf.P_VADDR)
                file.write(struct.pack("<Q", 0))
                file.seek(header.at + elf.P_FILESZ)
                file.write(struct.pack("<QQ", (1 << 64) - 1, (1 << 64) - 1))
    assert_shown_or_refused(path)


def test_wrong_header_size(any_core, tmp_path):
    """e_phentsize is always the same; what it says may be ignored, but not believed."""
    path = sparse_copy(any_core, tmp_path / "phentsize")
    with open(path, "r+b") as file:
        file.seek(elf.E_PHENTSIZE)
        file.write(b"\x01\x00")
    assert_shown_or_refused(path)


def test_more_headers_than_fit(any_core, tmp_path):
    """e_phnum 0xffff says that the number is in section header 0, which is not there."""
    path = sparse_copy(any_core, tmp_path / "xnum")
    with open(path, "r+b") as file:
        file.seek(elf.E_PHNUM)
        file.write(b"\xff\xff")
        file.seek(elf.E_SHOFF)
        file.write(struct.pack("<Q", 0))
    assert_shown_or_refused(path)
