"""Single values of a frame by the library: what eval() said in that frame, or a sentence."""
import json
import os
import re
import subprocess
import sys

import pytest

import cores
import debuggers

OTHER_SUITES = True

# What has no value in memory, and why.
REFUSED = {
    "empty": "'empty' has no value here",
    "nothing": "there is no 'nothing' among the locals, globals and builtins",
    "thing.computed": "'computed' of this Thing object is what code of the program gives",
    "thing.later": "'later' of this Thing object is what code of the program gives",
    "thing.nope": "this Thing object has no attribute 'nope'",
    "slotted.second": "'second' of this Slotted object has no value",
    "pair[5]": "this tuple has 2 items, none at 5",
    "pair[-3]": "this tuple has 2 items, none at -3",
    "pair['x']": "a tuple has numbers for its items",
    "names['zz']": "this dict has no key 'zz'",
    "names[1]": "this dict has no key 1",
    "CONSTANT[99]": "this dict has no key 99",
    "thing[0]": "this Thing object is no list, tuple or dict",
    "thing.rows[99999999999999999999999]": "this list has 3 items, none at 9999",
    "thing.rows[x]": "a number or a key in quotes is wanted at column 12",
    "len(names)": "'.' or '[' is wanted at column 4",
    "": "a name is wanted at column 1",
}


def ask(core, questions):
    done = subprocess.run([sys.executable, "-B", os.path.join(cores.SUPPORT, "frame_values_session.py"),
                           debuggers.PLUGIN, core.path, json.dumps(questions),
                           *([core.interpreter.root] if core.interpreter.root else [])], capture_output=True, timeout=600,
                          env=debuggers.environment(**debuggers.sanitizer()))
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()[-3000:]
    return json.loads(done.stdout.decode())


@pytest.mark.cases(["frame_values"])
def test_values_are_what_eval_says(core):
    promised = core.truth["promises"]["values"]
    questions = {name: list(expressions) for name, expressions in promised.items()}
    questions["deepest"] += list(REFUSED)
    questions["<module>"] = ["shadowed", "Body", "Exception"]
    answers = ask(core, questions)
    found = answers["values"]
    for name, expressions in promised.items():
        assert {what: found[name][what] for what in expressions} == expressions
    assert sum(len(expressions) for expressions in promised.values()) > 40
    wrong = [(what, found["deepest"][what]) for what, said in REFUSED.items()
             if not isinstance(found["deepest"][what], str) or not found["deepest"][what].startswith(said)]
    assert not wrong
    assert found["<module>"]["shadowed"] == ["global", "'global'"]
    assert found["<module>"]["Exception"] == ["builtin", "<class 'Exception'>"]
    assert "there is no 'Body'" in found["<module>"]["Body"]  # its class statement has not ended


@pytest.mark.cases(["frame_values"])
def test_names(core):
    questions = {"deepest": ["thing", "witness", "kind"], "closure": ["thing"], "Body": ["make"]}
    answers = ask(core, questions)
    names = answers["names"]
    assert names["deepest"][:3] == ["thing", "number", "shadowed"]
    assert {"problem", "\u00fcber", "CONSTANT", "witness", "len", "ValueError"} <= set(names["deepest"])
    assert "empty" not in names["deepest"]
    assert {"number", "shared", "thing", "CONSTANT"} <= set(names["closure"]) and "untold" not in names["closure"]
    assert {"in_class", "__qualname__", "Thing"} <= set(names["Body"])
    attributes = answers["attributes"]
    assert {"name", "rows", "of_class", "inherited", "method", "computed"} <= set(attributes["thing"])
    assert {"FOLDER", "die"} <= set(attributes["witness"]) and "of_class" in attributes["kind"]
    assert re.match(r"there is no Python frame at 0x1000$", answers["nowhere"])
    assert re.match(r"there is no Python frame at 0x", answers["no frame"])
