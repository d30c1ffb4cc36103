"""Just enough of ELF to damage a core file in the right place (elf.h)."""
import collections
import os
import struct
import subprocess

EI_CLASS, EI_DATA, EI_VERSION = 4, 5, 6
E_MACHINE, E_PHOFF, E_SHOFF, E_PHENTSIZE, E_PHNUM = 18, 32, 40, 54, 56
P_VADDR, P_FILESZ = 16, 32
PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_PRPSINFO, NT_FILE = 1, 3, 0x46494c45

# elf_prpsinfo (linux/elfcore.h).
PR_PID = 24

Header = collections.namedtuple("Header", "at type flags offset vaddr filesz memsz")
Note = collections.namedtuple("Note", "at name type offset size")


def program_headers(path):
    with open(path, "rb") as file:
        start = file.read(64)
        phoff, = struct.unpack_from("<Q", start, E_PHOFF)
        size, count = struct.unpack_from("<HH", start, E_PHENTSIZE)
        headers = []
        for index in range(count):
            file.seek(phoff + index * size)
            kind, flags, offset, vaddr, _, filesz, memsz = struct.unpack("<IIQQQQQ", file.read(48))
            headers.append(Header(phoff + index * size, kind, flags, offset, vaddr, filesz, memsz))
    return headers


def notes(path):
    """at: of the note's header, offset: of its descriptor, both in the file."""
    found = []
    with open(path, "rb") as file:
        for header in program_headers(path):
            if header.type != PT_NOTE:
                continue
            file.seek(header.offset)
            data, at = file.read(header.filesz), 0
            while at + 12 <= len(data):
                name_size, size, kind = struct.unpack_from("<III", data, at)
                name = data[at + 12:at + 12 + name_size].rstrip(b"\0")
                start = at + 12 + (name_size + 3) // 4 * 4
                found.append(Note(header.offset + at, name, kind, header.offset + start, size))
                at = start + (size + 3) // 4 * 4
    return found


def with_main_thread(core, folder, tid):
    """A copy of the core of which another thread was the process's first one."""
    copy = os.path.join(folder, "core")
    subprocess.run(["cp", "--sparse=always", core, copy], check=True)
    with open(copy, "r+b") as file:
        for note in notes(core):
            if note.type == NT_PRPSINFO:
                file.seek(note.offset + PR_PID)
                file.write(struct.pack("<i", tid))
    return copy


def without_files(core, folder):
    """A copy of the core that names files which are nowhere."""
    copy = os.path.join(folder, "core")
    subprocess.run(["cp", "--sparse=always", core, copy], check=True)
    with open(copy, "r+b") as file:
        for note in notes(core):
            if note.type != NT_FILE:
                continue
            file.seek(note.offset)
            data = bytearray(file.read(note.size))
            count = int.from_bytes(data[:8], "little")
            at = 16 + 24 * count
            for _ in range(count):
                data[at + 1] = ord("~")
                at = data.index(0, at) + 1
            file.seek(note.offset)
            file.write(data)
    return copy
