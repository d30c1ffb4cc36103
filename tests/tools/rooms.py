#!/usr/bin/env python3
"""The rules of the rooms, read from the sources and the objects: rooms.py ANALYZER [OBJECTS].

Each function of RULES takes a House and gives one line for each violation. ANALYZER is the folder with
CMakeLists.txt, OBJECTS the folder below which its objects lie; without that, calls are not looked at.
Exit 1 when there is any.
"""
from __future__ import annotations

import collections
import os
import re
import subprocess
import sys
from typing import Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

MOST_LINES = 500
MOST_FILES = 16
# What everybody may include, and the program, which is no part of the library.
PUBLIC, PROGRAM = "include", "cli"
# Doors inside a room that all may use: who opens a target says of which kind it is.
KINDS = ("target/core", "target/debugger", "target/live", "target/slim")

# Each outside library has one place: what is included, the folders, how many files there at most.
LIBRARIES: List[Tuple[str, str, Dict[str, Optional[int]]]] = [
    ("capstone", r"capstone/", {"disassembly": None}),
    ("libunwind", r"libunwind", {"native": None}),
    ("libdw", r"elfutils/", {"modules/dwarf": None, "native": 1}),
    ("libelf", r"(libelf|gelf)\.h", {"elf": None}),
    ("jansson", r"jansson\.h", {"json_writer": None, "report": None, "cli/triage": None,
                                "cli/doctor": 1, "cli/ci": 1, "cli/crash_store": 1,
                                "diagnose/running": 1}),
    ("ptrace", r"sys/ptrace\.h", {"target/live": None}),
    ("process_vm_readv", r"sys/uio\.h", {"target/live": None}),
    ("libdeflate", r"libdeflate\.h", {"elf": 1}),
    ("zlib", r"zlib\.h", {"profile_formats/pprof": 1, "cli/packed_core": 1}),
    ("libiberty", r"libiberty/", {"modules": 1}),
    ("libarchive", r"archive(_entry)?\.h", {"cli/archive_calls": 1}),
    ("libxml2", r"libxml/", {"cli/triage/outputs/junit": 1}),
    ("ncurses", r"ncursesw/", {"cli/top": 1}),
    ("getopt", r"getopt\.h", {PROGRAM: 1}),
]

Graph = Dict[str, Dict[str, str]]


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def parse_rooms(text: str) -> Dict[str, List[str]]:
    """{room: the rooms that it opens} of a CMakeLists.txt."""
    text = re.sub(r"#[^\n]*", "", text)
    lists = {name: value.split() for name, value in re.findall(r"\bset\((\w+)\s+([^()]*)\)", text)}
    rooms = {}
    for name, rest in re.findall(r"\bpsc_room\(\s*([\w/]+)([^()]*)\)", text):
        rest = re.sub(r"\$\{(\w+)\}", lambda found: " ".join(lists.get(found.group(1), [])), rest)
        opens = re.search(r"\bOPENS\b(.*?)(\bLINKS\b|$)", rest, re.S)
        rooms[name] = opens.group(1).split() if opens else []
    return rooms


class House:
    """The rooms, their files, and what each file includes and calls."""

    def __init__(self, folder: str, objects: Optional[str] = None):
        self.rooms = parse_rooms(read(os.path.join(folder, "CMakeLists.txt")))
        self.files: List[str] = []
        self.lines: Dict[str, int] = {}
        self.quoted: Dict[str, List[str]] = {}
        self.outside: Dict[str, List[str]] = {}
        for place, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def")):
                    path = os.path.relpath(os.path.join(place, name), folder)
                    text = read(os.path.join(place, name))
                    self.files.append(path)
                    self.lines[path] = text.count("\n")
                    self.quoted[path] = re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)
                    self.outside[path] = re.findall(r"^\s*#\s*include\s+<([^>]+)>", text, re.M)
        self.by_name = {os.path.basename(path): path for path in self.files}
        self.calls = read_calls(objects, self.files) if objects else {}

    def included(self, path: str) -> Iterator[str]:
        for name in self.quoted[path]:
            found = self.by_name.get(os.path.basename(name))
            if found:
                yield found


def room_of(path: str) -> str:
    return os.path.dirname(path)


def is_door(path: str) -> bool:
    return os.path.basename(path) == os.path.basename(room_of(path)) + ".h"


def is_inside(room: str, outer: str) -> bool:
    return room == outer or room.startswith(outer + "/")


def read_calls(objects: str, files: Iterable[str]) -> Graph:
    """{file: {file whose symbol it needs: one such symbol}} of the objects below a folder."""
    known = set(files)
    sources = {}
    for place, _, names in os.walk(objects):
        for name in names:
            path = os.path.join(place, name)
            found = re.search(r"\.dir/(.*\.c)\.o$", path)
            if found and found.group(1) in known:
                sources[path] = found.group(1)
    defined: Dict[str, str] = {}
    needed: Dict[str, Set[str]] = {source: set() for source in sources.values()}
    # One run for all of them: "PATH: SYMBOL KIND ...".
    command = ["nm", "-P", "-A", *sources] if sources else ["true"]
    for line in subprocess.run(command, check=True, capture_output=True).stdout.decode().splitlines():
        path, _, rest = line.rpartition(": ")
        symbol, kind = rest.split()[:2]
        if kind == "U":
            needed[sources[path]].add(symbol)
        elif kind in "TDBRVWG":
            defined[symbol] = sources[path]
    return {source: {defined[symbol]: symbol for symbol in sorted(symbols)
                     if symbol in defined and defined[symbol] != source}
            for source, symbols in needed.items()}


def circles(graph: Graph) -> List[List[str]]:
    """The strongly connected parts of more than one node, by Tarjan without recursion."""
    index: Dict[str, int] = {}
    low: Dict[str, int] = {}
    stack: List[str] = []
    on_stack: Set[str] = set()
    found = []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph.get(root, {}))))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, following = work[-1]
            for target in following:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(graph.get(target, {})))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part: list = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                        on_stack.discard(part[-1])
                    if len(part) > 1:
                        found.append(sorted(part))
    return found


def tell_circles(graph: Graph, what: str) -> Iterator[str]:
    for part in circles(graph):
        arrows = ["%s -> %s (%s)" % (one, other, graph[one][other])
                  for one in part for other in sorted(graph[one]) if other in part]
        yield "circle %s: %s" % (what, "; ".join(arrows[:12]))


def check_private_headers(house: House) -> Iterator[str]:
    """Of another room only the door is included; of a room around it any header."""
    for path in house.files:
        for header in house.included(path):
            if not (is_inside(room_of(path), room_of(header)) or is_door(header) or room_of(header) == PUBLIC):
                yield "%s includes %s, which is private" % (path, header)


def check_inner_doors(house: House) -> Iterator[str]:
    """The door of a room inside a room is for that room alone."""
    for path in house.files:
        for header in house.included(path):
            outer = os.path.dirname(room_of(header))
            if outer and is_door(header) and not is_inside(room_of(path), outer) and room_of(header) not in KINDS:
                yield "%s includes %s, which lies inside %s" % (path, header, outer)


def allowed(house: House, room: str) -> Set[str]:
    return set(house.rooms.get(room, []))


def check_arrows(house: House) -> Iterator[str]:
    """What a room includes, its OPENS names."""
    for path in house.files:
        room = room_of(path)
        for header in house.included(path):
            other = room_of(header)
            if not (is_inside(room, other) or other == PUBLIC or other in allowed(house, room)):
                yield "%s includes %s, but %s does not open %s" % (path, header, room, other)


def check_unused_arrows(house: House) -> Iterator[str]:
    """What OPENS names, the room's files reach, themselves or through the headers that they include."""
    for room, opens in house.rooms.items():
        work = [path for path in house.files if room_of(path) == room]
        seen = set(work)
        while work:
            for header in house.included(work.pop()):
                if header not in seen:
                    seen.add(header)
                    work.append(header)
        reached = {room_of(path) for path in seen}
        for other in opens:
            if other not in house.rooms:
                yield "%s opens %s, which is no room" % (room, other)
            elif other not in reached:
                yield "%s opens %s, but needs nothing of it" % (room, other)
            elif opens.count(other) > 1:
                yield "%s opens %s twice" % (room, other)


def check_order(house: House) -> Iterator[str]:
    """The list of rooms is in the order in which the data flows: a room opens those before it."""
    order = {room: number for number, room in enumerate(house.rooms)}
    for room, opens in house.rooms.items():
        for other in opens:
            if other in order and order[other] > order[room]:
                yield "%s opens %s, which stands below it in the list" % (room, other)


def check_folders(house: House) -> Iterator[str]:
    """Each folder with files is a room of the list, and has a door when another room asks for it."""
    for room in sorted({room_of(path) for path in house.files}):
        if room not in house.rooms and room != PUBLIC:
            yield "%s has files, but is no room of the list" % (room or "the top")
    for room in house.rooms:
        if not any(room_of(path) == room for path in house.files):
            yield "%s is a room without files" % room


def check_include_circles(house: House) -> Iterator[str]:
    graph = {path: {header: "include" for header in house.included(path)} for path in house.files}
    yield from tell_circles(graph, "of files by includes")


def between(graph: Graph, folder: Callable[[str], str]) -> Graph:
    rooms: Graph = collections.defaultdict(dict)
    for path, others in graph.items():
        for other, why in others.items():
            if folder(path) != folder(other):
                rooms[folder(path)].setdefault(folder(other), "%s: %s" % (os.path.basename(path), why))
    return rooms


def check_room_circles(house: House) -> Iterator[str]:
    """By includes. A room may have the types of the rooms around it."""
    graph = {path: {header: os.path.basename(header) for header in house.included(path)
                    if not is_inside(room_of(path), room_of(header)) and room_of(header) != PUBLIC}
             for path in house.files}
    yield from tell_circles(between(graph, room_of), "of rooms by includes")
    yield from tell_circles(between(graph, lambda path: path.split("/")[0]), "of the outermost rooms by includes")


def check_call_circles(house: House) -> Iterator[str]:
    yield from tell_circles(house.calls, "of files by calls")


def check_room_call_circles(house: House) -> Iterator[str]:
    yield from tell_circles(between(house.calls, room_of), "of rooms by calls")
    yield from tell_circles(between(house.calls, lambda path: path.split("/")[0]), "of the outermost rooms by calls")


def check_call_arrows(house: House) -> Iterator[str]:
    """Who calls a room opens it, or the room that it lies in."""
    for path, others in house.calls.items():
        room = room_of(path)
        for other, symbol in others.items():
            doors = room_of(other).split("/")
            outer = {"/".join(doors[:count]) for count in range(1, len(doors) + 1)}
            if is_inside(room, PROGRAM) and not is_inside(room_of(other), PROGRAM):
                continue
            if not is_inside(room, room_of(other)) and \
                    not outer & (allowed(house, room) | {room}):
                yield "%s calls %s() of %s, which %s does not open" % (path, symbol, other, room)


def check_sizes(house: House) -> Iterator[str]:
    for path in house.files:
        if house.lines[path] > MOST_LINES:
            yield "%s has %d lines" % (path, house.lines[path])
    for room, count in sorted(collections.Counter(map(room_of, house.files)).items()):
        if count > MOST_FILES:
            yield "%s has %d files" % (room, count)


def check_libraries(house: House) -> Iterator[str]:
    for library, pattern, places in LIBRARIES:
        used: Dict[str, List[str]] = collections.defaultdict(list)
        for path in house.files:
            if any(re.match(pattern, name) for name in house.outside[path]):
                place = next((place for place in places if is_inside(room_of(path), place)), None)
                if place is None:
                    yield "%s includes %s, which is for %s" % (path, library, " and ".join(places))
                else:
                    used[place].append(path)
        for place, paths in used.items():
            most = places[place]
            if most is not None and len(paths) > most:
                yield "%s has more than %d that include %s: %s" % (place, most, library, " ".join(paths))


RULES: List[Callable[[House], Iterator[str]]] = [
    check_folders, check_private_headers, check_inner_doors, check_arrows, check_unused_arrows, check_order,
    check_include_circles, check_room_circles, check_call_circles, check_room_call_circles, check_call_arrows,
    check_sizes, check_libraries]


def main(arguments: List[str]) -> int:
    house = House(*arguments)
    found = [(rule.__name__, line) for rule in RULES for line in rule(house)]
    for name, line in found:
        print("%s: %s" % (name, line))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
