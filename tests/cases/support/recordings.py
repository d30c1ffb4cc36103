"""Recordings of the tests, and what is read of them."""
import collections
import json
import os

import pytest

import analyzer
import interpreters


def python():
    found = interpreters.find_version(3, 12) or interpreters.find_version(3, 11)
    if not found:
        pytest.skip("no CPython 3.11 or 3.12")
    return found.path


def record(*arguments, codes=(0, 1), **more):
    result = analyzer.run("record", *arguments, codes=codes, **more)
    assert result.returncode in codes, result.describe()
    return result


def read_ndjson(text):
    """{type: [objects]}, of which the first ones are held against the schema."""
    validator = analyzer.schema_validator(True, os.path.join(analyzer.SCHEMAS, "pystack-core-profile-1.schema.json"))
    found = collections.defaultdict(list)
    for line in text.splitlines():
        item = json.loads(line)
        found[item["type"]].append(item)
        if len(found[item["type"]]) <= 50:
            assert validator.is_valid(item), list(validator.iter_errors(item))
    return found


def functions_of(profile):
    """The functions of each stack, by its number, outermost first."""
    frames = {frame["id"]: frame for frame in profile["frame"]}
    stacks: dict = {None: []}
    for stack in profile["stack"]:
        stacks[stack["id"]] = stacks[stack["parent"]] + [frames[stack["frame"]]["function"]]
    return stacks
