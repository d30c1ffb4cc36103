"""Whole cores, damaged at random, by the program itself: never a crash, a hang, or memory without end.

Thousands more, damaged where they are read, are looked at by the library: tests/tools/fuzz.py.

The seed is in the name of each test, so a failure can be run again:
    PSC_MUTATIONS=150 pytest test_mutated_cores.py -k 'mutation-17-'
"""
import json
import os
import random
import struct
import subprocess

import pytest

import analyzer
import cores
import elf
import interpreters

COUNT = int(os.environ.get("PSC_MUTATIONS", "600" if analyzer.THOROUGH else "20" if analyzer.SANITIZED else "50"))
SEED = int(os.environ.get("PSC_SEED", "20240229"))
SECONDS = 20
PR_STATUS_PID = 32  # struct elf_prstatus (linux/elfcore.h)
INTERESTING = [0, 1, 7, 8, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 47,
               (1 << 47) - 8, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 8]


class Mutator:
    """Works on an open copy of a core; says what it did."""

    def __init__(self, path, choose):
        self.path = path
        self.choose = choose
        self.headers = elf.program_headers(path)
        self.loads = [one for one in self.headers if one.type == elf.PT_LOAD and one.filesz]
        # Writable segments hold the heap, the stacks and the interpreter's variables.
        self.writable = [one for one in self.loads if one.flags & 2] or self.loads

    def write(self, file, at, data):
        file.seek(at)
        file.write(data)

    def some_value(self):
        choose = self.choose
        kind = choose.randrange(3)
        if kind == 0:
            return choose.choice(INTERESTING)
        if kind == 1:  # a pointer to somewhere real
            load = choose.choice(self.loads)
            return load.vaddr + choose.randrange(load.filesz) // 8 * 8
        return choose.getrandbits(64)

    def elf_header(self, file):
        self.write(file, self.choose.randrange(4, 64), bytes([self.choose.getrandbits(8)]))

    def program_header(self, file):
        header = self.choose.choice(self.headers)
        field = self.choose.choice([0, 4, 8, 16, 24, 32, 40, 48])
        self.write(file, header.at + field, struct.pack("<Q", self.some_value()))

    def note_header(self, file):
        note = self.choose.choice(elf.notes(self.path))
        self.write(file, note.at + self.choose.choice([0, 4, 8]),
                   struct.pack("<I", self.some_value() & 0xffffffff))

    def note_body(self, file):
        note = self.choose.choice([one for one in elf.notes(self.path) if one.size])
        for _ in range(self.choose.randrange(1, 9)):
            at = note.offset + self.choose.randrange(note.size) // 8 * 8
            self.write(file, at, struct.pack("<Q", self.some_value()))

    def thread_ids(self, file):
        """Numbers that are no ids: negative ones, 0, the same twice."""
        for note in elf.notes(self.path):
            if note.type == elf.NT_PRSTATUS and note.size > PR_STATUS_PID + 4 and self.choose.random() < 0.5:
                self.write(file, note.offset + PR_STATUS_PID,
                           struct.pack("<I", self.choose.choice([0, 1, 0x80000000, 0xffffffff])))

    def memory_words(self, file):
        for _ in range(self.choose.choice([1, 10, 1000])):
            load = self.choose.choice(self.writable)
            at = load.offset + self.choose.randrange(load.filesz) // 8 * 8
            self.write(file, at, struct.pack("<Q", self.some_value()))

    def swapped_pages(self, file):
        """Two pages of data change places: pointers lead to things of another kind."""
        for _ in range(self.choose.choice([1, 8])):
            places = []
            for _ in range(2):
                load = self.choose.choice(self.writable)
                places.append(load.offset + self.choose.randrange(load.filesz) // 4096 * 4096)
            pages = []
            for place in places:
                file.seek(place)
                pages.append(file.read(4096))
            for place, page in zip(places, reversed(pages)):
                self.write(file, place, page)

    def wiped_pages(self, file):
        for _ in range(self.choose.choice([1, 8, 64])):
            load = self.choose.choice(self.writable)
            at = load.offset + self.choose.randrange(load.filesz) // 4096 * 4096
            self.write(file, at, bytes([self.choose.choice([0, 0xff, 0x41])]) * 4096)

    def pointers_redirected(self, file):
        """Words that point into the core point elsewhere into it: chains become cycles."""
        load = self.choose.choice(self.writable)
        start = load.offset + self.choose.randrange(load.filesz) // 4096 * 4096
        file.seek(start)
        page = file.read(4096)
        low, high = min(one.vaddr for one in self.loads), max(one.vaddr for one in self.loads)
        words = [(at, value) for at, (value,) in
                 ((at, struct.unpack_from("<Q", page, at)) for at in range(0, len(page) - 7, 8))
                 if low <= value < high]
        for at, _ in self.choose.sample(words, min(len(words), 8)):
            self.write(file, start + at, struct.pack("<Q", self.choose.choice(words)[1]))

    def truncated(self, file):
        size = os.path.getsize(self.path)
        file.truncate(self.choose.choice([self.choose.randrange(size), self.choose.randrange(65536)]))

    KINDS = [elf_header, program_header, note_header, note_body, thread_ids, memory_words, memory_words,
             swapped_pages, wiped_pages, pointers_redirected, pointers_redirected, truncated]

    def mutate(self):
        kinds = [self.choose.choice(self.KINDS) for _ in range(self.choose.choice([1, 1, 2, 4]))]
        # The layout is read before the first damage; a truncation comes last.
        kinds.sort(key=lambda kind: kind is Mutator.truncated)
        with open(self.path, "r+b") as file:
            for kind in kinds:
                try:
                    kind(self, file)
                except (ValueError, IndexError, struct.error):
                    pass  # an earlier damage took away what this one works on
        return [kind.__name__ for kind in kinds]


def subjects():
    """Small cores of different interpreters, and one with C and Python in turns."""
    return [(case, one) for one in interpreters.find_wanted()
            for case in ("callbacks", "worker_crash", "values", "exceptions", "asyncio_tasks")]


@pytest.mark.parametrize("number", range(COUNT), ids=lambda number: "mutation-%d-" % number)
def test_mutation(number, tmp_path):
    choose = random.Random(SEED * 1000003 + number)
    found = subjects()
    if not found:
        pytest.skip("no CPython here")
    case, interpreter = found[number % len(found)]
    path = tmp_path / "core"
    subprocess.run(["cp", "--sparse=always", cores.make_core(case, interpreter).path, path], check=True)
    did = Mutator(str(path), choose).mutate()
    print("seed %d, mutation %d of %s %s: %s" % (SEED, number, case, interpreter, ", ".join(did)))
    options = choose.choice([("--format", "json"), ("--format", "json", "--all"), ("--all",), (),
                             ("--locals",), ("--format", "json", "--locals"),
                             ("--tasks",), ("--format", "json", "--tasks"),
                             ("--mode", "python"), ("--mode", "native", "--unwinder", "libdw")])
    also = () if "json" in options else ("--output", "json=%s" % (tmp_path / "report"))
    result = analyzer.run(*options, *also, path, timeout=SECONDS, memory=2 * analyzer.GIGABYTE)
    assert result.returncode in (0, 1, 2), result.describe()
    text = result.stdout.replace("\x7f", "") if "json" in options else result.stdout
    assert analyzer.forbidden_characters(text) == []
    if result.returncode == analyzer.EXIT_NOTHING:
        assert result.stdout == "" and len(result.stderr.splitlines()) == 1
    elif "json" in options:
        analyzer.assert_fits_schema(result.json)
    else:
        analyzer.assert_fits_schema(json.loads((tmp_path / "report").read_text()))
