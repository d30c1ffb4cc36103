"""Files that are made to cost much: small ones that a careless reader multiplies."""
import struct

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # elf.h, Elf64_Ehdr
SEGMENT = struct.Struct("<IIQQQQQQ")         # Elf64_Phdr
NOTE = struct.Struct("<III")                 # Elf64_Nhdr
PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_FILE = 1, 0x46494c45
STATUS_SIZE, STATUS_PID, STATUS_REGISTERS, RIP = 336, 32, 112, 16  # struct elf_prstatus of x86-64


def note(kind, data):
    return NOTE.pack(5, len(data), kind) + b"CORE\0\0\0\0" + data + b"\0" * (-len(data) % 4)


def thread(tid):
    status = bytearray(STATUS_SIZE)
    struct.pack_into("<I", status, STATUS_PID, tid)
    struct.pack_into("<Q", status, STATUS_REGISTERS + 8 * RIP, 0x401000)
    return note(NT_PRSTATUS, bytes(status))


def file_note(names, page=4096):
    """NT_FILE: a page of each file, one behind the other."""
    entries = b"".join(struct.pack("<QQQ", (i + 0x1000) * page, (i + 0x1001) * page, 0) for i in range(len(names)))
    return note(NT_FILE, struct.pack("<QQ", len(names), page) + entries +
                b"".join(name.encode() + b"\0" for name in names))


def core(path, notes, times=1):
    """A core of these notes; their segment is listed `times` times."""
    offset = HEADER.size + SEGMENT.size * times
    segment = SEGMENT.pack(PT_NOTE, 4, offset, 0, 0, len(notes), 0, 4)
    header = HEADER.pack(b"\x7fELF\2\1\1" + b"\0" * 9, 4, 62, 1, 0, HEADER.size, 0, 0, HEADER.size, SEGMENT.size,
                         times, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(header + segment * times + notes)
    return path
