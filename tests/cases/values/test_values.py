"""--locals: each value as the interpreter's own repr() has it, or as it is promised to differ."""
import pytest

import analyzer
import elf

OTHER_SUITES = True


@pytest.mark.cases(["values"])
def test_values_are_what_repr_says(core):
    document = analyzer.json_of(core.path, "--locals").json
    analyzer.assert_fits_schema(document)
    shown = {}
    for frame in analyzer.frames_by_name(document, core.truth["dying"]).values():
        shown.update(frame.get("locals", {}))
    wrong = []
    for name, said in core.truth["promises"]["values"].items():
        text = shown.get(name)
        fits = text is not None and (text == said["is"] if "is" in said else text.startswith(said["begins"]))
        if not fits:
            wrong.append("%s: %r, not %r" % (name, text, said))
    assert not wrong, "\n".join(wrong)
    assert len(core.truth["promises"]["values"]) > 90


@pytest.mark.cases(["values"])
def test_order_of_names(core):
    """Arguments as they were declared, then the others; cells are followed."""
    document = analyzer.json_of(core.path, "--locals").json
    frames = analyzer.frames_by_name(document, core.truth["dying"])
    found = frames["arguments"]["locals"]
    order = core.truth["promises"]["order"]
    assert list(found)[:6] == order[:6]
    assert set(order) <= set(found) and "first_seen" not in found
    assert [found[name] for name in order] == [
        "1", "2", "(3, 4)", "'word'", "'given'", "{'extra': 'more', 'other': 'still'}", "'later'", "'later'"]
    nested = frames["nested"]["locals"]
    assert nested["nested_local"] == nested["outer_cell"] == "'later'"
    assert list(nested)[0] == "argument" and nested["argument"].startswith("<function arguments at 0x")
    assert frames["arguments"]["arguments"] == order[:6] and frames["nested"]["arguments"] == ["argument"]
    assert frames["numbers"]["arguments"] == frames["<module>"]["arguments"] == []


@pytest.mark.cases(["values"])
def test_module_frames_show_their_data(core):
    """No modules, classes, functions or dunder names."""
    document = analyzer.json_of(core.path, "--locals").json
    found = analyzer.frames_by_name(document, core.truth["dying"])["<module>"]["locals"]
    assert set(found) == {"truth"} and found["truth"].startswith("{'none': {'is': 'None'}, ")


@pytest.mark.cases(["values"])
def test_limits(core):
    """Characters, items and depth as they are asked for."""
    limits = ["--value-length", "5000", "--value-items", "1000", "--value-depth", "20"]
    found = analyzer.frames_by_name(analyzer.json_of(core.path, "--locals", *limits).json, core.truth["dying"])
    assert found["texts"]["locals"]["long_text"] == repr("x" * 5000)
    assert found["containers"]["locals"]["many"] == repr(list(range(1000)))
    assert found["containers"]["locals"]["deep"] == "[[[[[[[[1]]]]]]]]"
    assert found["library"]["locals"]["long_path"] == "PurePosixPath(%r)" % ("x" * 401)
    assert "u'" not in found["library"]["locals"]["long_view"] and found["library"]["locals"]["long_view"].count("0, ") == 999
    limits = ["--value-length", "3", "--value-items", "2", "--value-depth", "1"]
    found = analyzer.frames_by_name(analyzer.json_of(core.path, "--locals", *limits).json, core.truth["dying"])
    assert found["texts"]["locals"]["plain"] == "'pla'\u2026 2 more"
    assert found["containers"]["locals"]["many"].startswith("[0, 1, \u2026")
    assert found["containers"]["locals"]["deep"] == "[[\u2026]]"


@pytest.mark.cases(["values"])
@pytest.mark.parametrize("option,most", [("length", 1048576), ("items", 65536), ("depth", 32)])
def test_limits_have_limits(core, option, most):
    for wrong in ("0", "-1", "x", "", str(most + 1), "99999999999999999999"):
        done = analyzer.run("--locals", "--value-" + option, wrong, core.path)
        assert done.returncode == 64 and done.stderr == (
            "pystack-core: --value-%s: '%s' is no number from 1 to %d; see pystack-core --help\n" % (option, wrong, most))


@pytest.mark.cases(["values"])
def test_values_in_text(core):
    text = analyzer.run("--locals", core.path).stdout
    assert "second = 2\n" in text and "rest = (3, 4)\n" in text
    assert analyzer.forbidden_characters(text) == []
    assert "second = 2\n" not in analyzer.run(core.path).stdout


@pytest.mark.cases(["values"])
def test_values_without_the_dead_machines_files(core, tmp_path):
    """The interpreter is found in memory; names of built-in types come from the builtins module."""
    result = analyzer.run("--format", "json", "--locals", "--mode", "python", elf.without_files(core.path, str(tmp_path)))
    frames = analyzer.frames_by_name(result.json, core.truth["dying"])
    assert frames["arguments"]["locals"]["rest"] == "(3, 4)"
    assert frames["arguments"]["locals"]["more"] == "{'extra': 'more', 'other': 'still'}"
    assert frames["numbers"]["locals"]["none"] == "None"
    assert frames["numbers"]["locals"]["floats"].startswith("[0.0, -0.0, 1.0, 0.1, ")
    assert frames["containers"]["locals"]["unique"] == "{5, 6, 7}"
    assert frames["containers"]["locals"]["moved"] == core.truth["promises"]["values"]["moved"]["is"]
    assert frames["objects"]["locals"]["key_error"] == core.truth["promises"]["values"]["key_error"]["is"]
