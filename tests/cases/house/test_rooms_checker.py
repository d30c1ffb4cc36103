"""tests/tools/rooms.py finds each kind of violation, in small trees made for it."""
import os
import subprocess
import sys

import pytest

import cores

sys.path.insert(0, cores.TOOLS)
import rooms  # noqa: E402

LIST = """
set(several low)
psc_room(low)                # psc_room(comment)
psc_room(middle OPENS low LINKS psc_unwind)
psc_room(high   OPENS ${several}
                      middle)
"""
# Three rooms that keep every rule.
FILES = {
    "include/pystack_core.h": "typedef int psc;\n",
    "low/low.h": "int low(void);\n",
    "low/low.c": '#include "low.h"\nint low(void) { return 1; }\n',
    "middle/middle.h": "#include <pystack_core.h>\nint middle(void);\n",
    "middle/middle.c": '#include "middle.h"\n#include "low.h"\nint middle(void) { return low(); }\n',
    "high/high.h": "int high(void);\n",
    "high/high.c": '#include "high.h"\n#include "middle.h"\n#include "low.h"\n'
                   'int high(void) { return middle() + low(); }\n',
}


def build(folder, files, rooms_list=LIST):
    """The violations in a tree of these files: {name of the rule: lines}."""
    source, objects = os.path.join(folder, "source"), os.path.join(folder, "objects")
    files = {**FILES, **files, "CMakeLists.txt": rooms_list}
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(source, path)), exist_ok=True)
        with open(os.path.join(source, path), "w") as file:
            file.write(text)
    quotes = ["-iquote" + os.path.join(source, os.path.dirname(path)) for path in files]
    for path in files:
        if path.endswith(".c"):
            made = os.path.join(objects, "room.dir", path + ".o")
            os.makedirs(os.path.dirname(made), exist_ok=True)
            subprocess.run(["cc", "-w", "-c", *quotes, "-I" + source + "/include", os.path.join(source, path),
                            "-o", made], check=True)
    house = rooms.House(source, objects)
    found = {rule.__name__: list(rule(house)) for rule in rooms.RULES}
    return {name: lines for name, lines in found.items() if lines}


def test_a_good_house(tmp_path):
    assert build(tmp_path, {}) == {}


def test_the_list_is_read():
    assert rooms.parse_rooms(LIST) == {"low": [], "middle": ["low"], "high": ["low", "middle"]}


def with_rooms(*more):
    return LIST + "\n".join("psc_room(%s)" % room for room in more)


LONG = "\n" * 501
INNER = {"middle/inner/inner.h": "int inner(void);\n",
         "middle/inner/inner.c": '#include "inner.h"\n#include "middle.h"\nint inner(void) { return 2; }\n'}
INNER_LIST = LIST.replace("psc_room(middle OPENS low", "psc_room(middle/inner)\npsc_room(middle OPENS low middle/inner")
USES_INNER = {**INNER, "middle/user.c": '#include "inner.h"\nint user(void) { return inner(); }\n'}


@pytest.mark.parametrize("rule,told,files,rooms_list", [
    ("check_private_headers", "high/other.c includes low/low_private.h, which is private",
     {"low/low_private.h": "", "high/other.c": '#include "low_private.h"\n'}, LIST),
    ("check_inner_doors", "high/other.c includes middle/inner/inner.h, which lies inside middle",
     {**USES_INNER, "high/other.c": '#include "inner.h"\n'}, INNER_LIST.replace("${several}", "low middle/inner")),
    ("check_arrows", "low/other.c includes high/high.h, but low does not open high",
     {"low/other.c": '#include "high.h"\n'}, LIST),
    ("check_unused_arrows", "alone opens low, but needs nothing of it",
     {"alone/alone.c": "int alone;\n"}, with_rooms("alone OPENS low")),
    ("check_unused_arrows", "alone opens nowhere, which is no room",
     {"alone/alone.c": "int alone;\n"}, with_rooms("alone OPENS nowhere")),
    ("check_order", "low opens high, which stands below it in the list",
     {"low/other.c": '#include "high.h"\n'}, LIST.replace("psc_room(low)", "psc_room(low OPENS high)")),
    ("check_folders", "attic has files, but is no room of the list", {"attic/attic.c": "int attic;\n"}, LIST),
    ("check_folders", "alone is a room without files", {}, with_rooms("alone")),
    ("check_include_circles", "circle of files by includes: low/one.h -> low/two.h (include); "
     "low/two.h -> low/one.h (include)",
     {"low/one.h": '#pragma once\n#include "two.h"\n', "low/two.h": '#pragma once\n#include "one.h"\n'}, LIST),
    ("check_room_circles", "circle of rooms by includes: low -> middle (other.c: middle.h); "
     "middle -> low (middle.c: low.h)", {"low/other.c": '#include "middle.h"\n'}, LIST),
    ("check_room_circles", "circle of the outermost rooms by includes: left -> right (a.c: b.h); "
     "right -> left (d.c: c.h)",
     {"left/a/a.c": '#include "b.h"\n', "right/b/b.h": "", "right/d/d.c": '#include "c.h"\n', "left/c/c.h": ""},
     LIST),
    ("check_call_circles", "circle of files by calls: low/one.c -> low/two.c (two); low/two.c -> low/one.c (one)",
     {"low/one.c": "int two(void); int one(void) { return two(); }\n",
      "low/two.c": "int one(void); int two(void) { return one(); }\n"}, LIST),
    ("check_room_call_circles", "circle of rooms by calls: low -> middle (other.c: middle); "
     "middle -> low (middle.c: low)", {"low/other.c": "int middle(void); int other(void) { return middle(); }\n"},
     LIST),
    ("check_call_arrows", "low/other.c calls high() of high/high.c, which low does not open",
     {"low/other.c": "int high(void); int other(void) { return high(); }\n"}, LIST),
    ("check_sizes", "low/long.c has 501 lines", {"low/long.c": LONG}, LIST),
    ("check_sizes", "low has 17 files", {"low/file%d.c" % number: "" for number in range(15)}, LIST),
    ("check_libraries", "low/other.c includes capstone, which is for disassembly",
     {"low/other.c": "#if 0\n#include <capstone/capstone.h>\n#endif\n"}, LIST),
    ("check_libraries", "cli has more than 1 that include getopt: cli/a.c cli/b.c",
     {"cli/a.c": "#include <getopt.h>\n", "cli/b.c": "#include <getopt.h>\n"}, LIST),
])
def test_a_violation(tmp_path, rule, told, files, rooms_list):
    assert told in build(tmp_path, files, rooms_list).get(rule, [])


def test_a_room_inside_a_room(tmp_path):
    """It has the types of the room around it, and that room its door; nobody calls back and forth."""
    assert build(tmp_path, USES_INNER, INNER_LIST) == {}


def test_a_function_that_is_handed_in_is_no_call(tmp_path):
    assert build(tmp_path, {
        "low/table.c": "struct row { int (*run)(void); };\nint run(const struct row *row) { return row->run(); }\n",
        "high/rows.c": '#include "high.h"\nstruct row { int (*run)(void); };\nint run(const struct row *);\n'
                       "int rows(void) { static const struct row row = {high}; return run(&row); }\n"}) == {}
