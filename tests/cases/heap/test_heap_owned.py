"""heap: what each object keeps beside its own, beside the sizes of all blocks that were given while it was made."""
import itertools

import pytest

import analyzer
import cores
import interpreters

PAGE = 4096
POOL_LIMIT = 512
# Parts of these may be malloc()'s though they are small: asked for there, or of a larger block that shrank.
MAY_BE_CHUNKS = ("numpy", "view", "shrunk", "consumed", "emptied")
# Of these sys.getsizeof() asks code of their own, see docs/heap.md.
UNKNOWN_SIZES = ("BytesIO", "tree")


def subjects():
    found = interpreters.find_with_heap()
    system = [one for one in found if one.is_system]
    some = found if analyzer.THOROUGH else [found[0], *system, found[-1]]
    return list(dict.fromkeys(some + interpreters.find_newer_in_suites()))


def sizes_of_block(size, raw):
    """What may be given for so many bytes: malloc() leaves no rest of 16 bytes, and maps large ones."""
    pooled = max(16, size + 15 & ~15)
    chunk = max(32, size + 8 + 15 & ~15)
    if size <= POOL_LIMIT and not raw:
        return {pooled}
    mapped = {size + 16 + PAGE - 1 & ~(PAGE - 1)} if size >= 32 * PAGE - 24 else set()
    return {chunk, chunk + 16} | mapped | ({pooled} if size <= POOL_LIMIT else set())


def sums(blocks, raw):
    """All that these may take together."""
    result = {0}
    for domain, size in blocks:
        result = {one + other for one, other in itertools.product(result, sizes_of_block(size, raw or domain))}
    return result


@pytest.fixture(scope="module", name="core", params=subjects(), ids=str)
def make_core(request, tmp_path_factory):
    return cores.core_of(request.param, str(tmp_path_factory.mktemp("owned")), "heap_owned")


@pytest.fixture(scope="module", name="listed")
def make_listed(core):
    """Each object by its address."""
    result = analyzer.run("heap", "--format", "json", "--largest", "--limit", "1000000", core.path, timeout=300)
    assert result.returncode == 0, result.describe()
    return {one["address"]: one for one in result.json["largest"]}


def test_owned_bytes(core, listed):
    wrong = []
    for name, (parts, blocks) in core.truth.items():
        kind = name[1:].rsplit(" ", 2)[0]
        found = [listed.get(address) for address, _ in parts]
        if None in found:
            wrong.append("%s: not among the objects" % name)
            continue
        total = sum(one["bytes"] + one["owned_bytes"] for one in found)
        expected = sums(blocks, kind.startswith(MAY_BE_CHUNKS))
        if kind.startswith("numpy"):  # It keeps small blocks, for dimensions too, and gives them again.
            expected = {one + kept for one in expected for kept in (0, 32, 48, 64)}
        if total not in expected:
            wrong.append("%s: %d bytes (%s) of blocks of %s" % (
                name, total, ", ".join("%s %d + %d" % (one["type"], one["bytes"], one["owned_bytes"]) for one in found),
                [size for _, size in blocks]))
        wrong.extend("%s: sys.getsizeof() is %d, not %d" % (name, size, listed[address]["size"])
                     for address, size in parts if listed[address]["size"] != size and kind not in UNKNOWN_SIZES)
    assert not wrong, "%d\n%s" % (len(wrong), "\n".join(wrong[:300]))
    assert len(core.truth) > 400


def test_one_object_says_the_same(core, listed):
    for name in ("<list 40000 1>", "<dict 513 1>", "<set 3000 1>", "<bytearray 60 1>"):
        address = core.truth[name][0][0][0]
        result = analyzer.run("heap", "--format", "json", "--object", address, core.path)
        one = result.json["object"]
        assert {key: one[key] for key in ("size", "bytes", "owned_bytes")} == \
            {key: listed[address][key] for key in ("size", "bytes", "owned_bytes")}
