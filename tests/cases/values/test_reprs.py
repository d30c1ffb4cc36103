"""--locals of objects of all kinds of built-in types: what repr() said of each; and where only the program knows it."""
import ast
import re

import pytest

import analyzer

OTHER_SUITES = True


def read(core):
    document = analyzer.json_of(core.path, "--locals", "--mode", "python", "--value-length", "2000", "--value-items", "100").json
    analyzer.assert_fits_schema(document)
    return document["threads"][0]["frames"]


def shown_by(core):
    return {ast.literal_eval(frame["locals"]["name"]): frame["locals"]["value"]
            for frame in read(core) if frame["name"] == "hold"}


@pytest.mark.cases(["reprs"])
def test_values_are_what_repr_says(core):
    said, shown = core.truth["promises"]["said"], shown_by(core)
    wrong = ["%s: %r, not %r" % (name, shown.get(name), text) for name, text in said.items() if shown.get(name) != text]
    assert not wrong, "\n".join(wrong)
    assert len(said) > 130


@pytest.mark.cases(["own_reprs"], when=lambda case, interpreter: interpreter.minor >= (3, 7))
def test_what_a_class_says_of_itself_is_not_known(core):
    said, shown = core.truth["promises"]["said"], shown_by(core)
    known = {name: text for name, text in said.items() if name.startswith("known")}
    assert {name: shown[name] for name in known} == known
    own = {name: text for name, text in shown.items() if name.startswith("own")}
    # As an object of that class, or, of what is shown without more around it, with its name.
    wrong = [text for name, text in own.items()
             if not text.startswith("<__main__.") and not (text.startswith(("Own", "Tuple(")) and "=" not in text)]
    assert not wrong and len(own) == 35, (wrong, len(own))


@pytest.mark.cases(["own_reprs"], when=lambda case, interpreter: interpreter.minor >= (3, 7))
def test_a_list_that_is_being_sorted(core):
    frame = read(core)[-1]
    assert frame["name"] == "<module>"
    assert re.fullmatch(r"<list at 0x[0-9a-f]+: its items are being sorted>", frame["locals"]["sorted_now"])
