"""What must hold of a Firefox profile: its own reader does not look at lengths and indices."""
import re


def check_table(table, what):
    lengths = {key: len(column) for key, column in table.items() if isinstance(column, list)}
    assert set(lengths.values()) <= {table["length"]}, (what, table["length"], lengths)


def check_indices(values, limit, what, least=0):
    wrong = [value for value in values if value is not None and not least <= value < limit]
    assert not wrong, (what, wrong[:5], limit)


def check_firefox(profile):
    """Every column as long as its table, every index inside of the table that it is for."""
    shared = profile["shared"]
    for name, table in shared.items():
        if name != "stringArray":
            check_table(table, name)
    stacks, frames, functions = shared["stackTable"], shared["frameTable"], shared["funcTable"]
    strings, libraries = len(shared["stringArray"]), len(profile["libs"])
    categories = len(profile["meta"]["categories"])
    check_indices(stacks["frame"], frames["length"], "frame")
    for row, offset in enumerate(stacks["prefixOffset"]):
        assert 0 <= offset <= row, (row, offset)
    check_indices(frames["func"], functions["length"], "func")
    check_indices(frames["category"], categories, "category")
    check_indices(frames["nativeSymbol"], shared["nativeSymbols"]["length"], "nativeSymbol")
    check_indices(functions["name"], strings, "name")
    check_indices(functions["resource"], shared["resourceTable"]["length"], "resource", -1)
    check_indices(functions["source"], shared["sources"]["length"], "source")
    check_indices(shared["resourceTable"]["lib"], libraries, "lib")
    check_indices(shared["resourceTable"]["name"], strings, "resource name")
    check_indices(shared["nativeSymbols"]["libIndex"], libraries, "libIndex")
    check_indices(shared["nativeSymbols"]["name"], strings, "symbol name")
    check_indices(shared["sources"]["filename"], strings, "filename")
    schemas = {schema["name"] for schema in profile["meta"]["markerSchema"]}
    assert len({thread["tid"] for thread in profile["threads"]}) == len(profile["threads"])
    for thread in profile["threads"]:
        samples, markers = thread["samples"], thread["markers"]
        check_table(samples, thread["name"])
        check_table(markers, thread["name"])
        check_indices(samples["stack"], stacks["length"], "stack")
        assert samples["time"] == sorted(samples["time"])
        check_indices(markers["name"], strings, "marker name")
        check_indices(markers["category"], categories, "marker category")
        assert {data["type"] for data in markers["data"]} <= schemas
        assert all(start <= end for start, end in zip(markers["startTime"], markers["endTime"]))
    for library in profile["libs"]:
        assert re.fullmatch("[0-9A-F]{33}", library["breakpadId"]), library
