"""Debug information that is walked again and again, or of which each step is long: seconds, and a word about it."""
import os
import subprocess

import pytest

import analyzer
import cores

# What any input of up to 20 MB may cost.
LIMITS = dict(timeout=5, memory=500 * 1000 * 1000)
MANY = 16 << 20

# An abbreviation each: tag, children, (attribute, form)... DWARF 5, 7.5.3 to 7.5.6.
UNIT, NAMESPACE, SUBPROGRAM, FUNCTION, RANGED, MAIN, BLOCK, VARIABLE, JUMPING, LONG = range(1, 11)
ABBREVIATIONS = [
    (UNIT, 0x11, 1, [(0x11, 1), (0x12, 7)]),        # low_pc, high_pc
    (NAMESPACE, 0x39, 1, []),
    (SUBPROGRAM, 0x2e, 0, []),
    (FUNCTION, 0x2e, 1, []),
    (RANGED, 0x2e, 0, [(0x55, 0x17)]),              # ranges
    (MAIN, 0x2e, 1, [(0x11, 1), (0x12, 7)]),
    (BLOCK, 0x0b, 0, [(0x55, 0x17)]),
    (VARIABLE, 0x34, 0, []),
    (JUMPING, 0x39, 1, [(0x01, 0x13)]),             # sibling
    (LONG, 0x2e, 0, 100000 * [(0x3f, 0x19)]),       # external
]
MAIN_DIE = ".byte %d\n.quad main\n.quad .Lend-main\n" % MAIN
RANGES = '.section .debug_ranges,"",@progbits\n.rept 500000\n.quad 1,2\n.endr\n.quad 0,0\n'


def many(what, count=MANY):
    return ".fill %d,1,%d\n" % (count, what)


def nested(what, inside, depth=30):
    return many(what, depth) + inside + many(0, depth)


def jumps(depth=40):
    """Each says that its first child is its sibling: two ways to each, four to the next..."""
    return "".join(".byte %d\n.long .Ln%d-.Lunit\n.Ln%d:\n" % (JUMPING, i, i) for i in range(depth)) + many(0, depth)


DAMAGES = {
    "siblings inside": (jumps(), ""),
    "deep namespaces": (nested(NAMESPACE, many(SUBPROGRAM)), ""),
    "deep and skipped": (nested(NAMESPACE, nested(FUNCTION, many(VARIABLE), 1)), ""),
    "ranges of all": (".rept 1500000\n.byte %d\n.long 0\n.endr\n" % RANGED, RANGES),
    "ranges of blocks": (MAIN_DIE + ".rept 1500000\n.byte %d\n.long 0\n.endr\n.byte 0\n" % BLOCK, RANGES),
    "attributes": (many(LONG), ""),
}


def abbreviation(code, tag, children, attributes):
    return ".uleb128 %d,%d\n.byte %d\n%s.byte 0,0\n" % (
        code, tag, children, "".join(".uleb128 %d,%d\n" % pair for pair in attributes))


def build(folder, body, more):
    """A program that dies in main(), of which a unit's children are `body`."""
    listed = "".join(abbreviation(*item) for item in ABBREVIATIONS if item[0] != LONG or many(LONG) in body)
    (folder / "program.s").write_text("""
.text
.globl main
main: ud2
.Lend:
.section .debug_abbrev,"",@progbits
.Labbreviations:
%s.byte 0
.section .debug_info,"",@progbits
.Lunit: .long .Lunit_end-.Lstart
.Lstart: .short 4
.long .Labbreviations
.byte 8
.byte %d
.quad main
.quad .Lend-main
%s.byte 0
.Lunit_end:
%s""" % (listed, UNIT, body, more))
    subprocess.run(["gcc", "-nostartfiles", "-Wl,-e,main", "-o", "program", "program.s"], cwd=folder, check=True)
    cores.run_to_core([folder / "program"], folder)
    os.remove(folder / "program.s")
    return folder / "core"


@pytest.mark.parametrize("damage", DAMAGES)
def test_walks_end(damage, tmp_path):
    core = build(tmp_path, *DAMAGES[damage])
    result = analyzer.run("--format", "json", core, **LIMITS)
    analyzer.assert_fits_schema(result.json)
    assert result.json["threads"][0]["frames"][0]["function"] == "main"
    codes = [warning["code"] for warning in result.json["warnings"]]
    assert ("debug-info-limit" in codes) == (damage != "siblings inside"), codes
