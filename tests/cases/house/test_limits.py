"""docs/limits.md says of each limit what the sources have."""
import os
import re

import cores

ROW = re.compile(r"^\| ([^|]+) \| ([0-9,]+) \| `([A-Z_]+)` \| `([a-z_./0-9]+)` \|", re.M)
# A number with a cast, and what it is shifted or multiplied by.
VALUE = re.compile(r"UINT64_C\(([0-9]+)\)|\((?:u?int[0-9]+_t|size_t|off_t)\)|\b([0-9]+)(?:u|L|\.)?(?![0-9a-zA-Z_(])")


def value_of(text):
    """Of "((size_t)64 << 20)", "4000000u", "(UINT64_C(1) << 26)", "((size_t)512 * 1024)"."""
    plain = VALUE.sub(lambda match: match.group(1) or match.group(2) or "", text)
    assert re.fullmatch(r"[0-9()<* ]+", plain), text
    return eval(plain)  # pylint: disable=eval-used


def test_page_of_limits():
    with open(os.path.join(cores.SOURCE, "docs", "limits.md")) as page:
        rows = ROW.findall(page.read())
    assert len(rows) > 30
    for what, most, name, path in rows:
        with open(os.path.join(cores.SOURCE, "analyzer", path)) as source:
            found = re.search(r"^ *#define +%s +(.+?) *(?:/\*.*)?$" % name, source.read(), re.M)
        assert found, "%s is not in %s" % (name, path)
        assert value_of(found.group(1)) == int(most.replace(",", "")), (what, found.group(1))
