"""Every JSON document fits the schema, in every mode."""
import json

import pytest

import analyzer
import cores

OPTIONS = [(), ("--all",), ("--mode", "python"), ("--mode", "native"), ("--order", "outermost-first"),
           ("--thread", "crashed"), ("--no-source",)]


@pytest.mark.cases(cores.CASES, slow=True)
def test_fits_schema(core):
    for options in OPTIONS[:2]:
        analyzer.assert_fits_schema(analyzer.json_of(core.path, *options).json, str(options))


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_fits_schema_with_options(any_core, options):
    analyzer.assert_fits_schema(analyzer.json_of(any_core, *options).json)


def test_schema_refuses_what_is_wrong(any_core):
    """The schema is not one that takes anything."""
    document = analyzer.json_of(any_core).json
    for spoil in (lambda d: d.pop("threads"), lambda d: d.update(schema="pystack-core/0"),
                  lambda d: d["threads"][0]["frames"][0].update(kind="other"),
                  lambda d: d["threads"][0]["frames"][0].update(line=0),
                  lambda d: d["threads"][0]["frames"][0].update(pc=12)):
        copy = json.loads(json.dumps(document))
        spoil(copy)
        assert list(analyzer.schema_validator().iter_errors(copy))


def test_schema_takes_what_a_later_version_adds(any_core):
    document = json.loads(json.dumps(analyzer.json_of(any_core).json))
    for spoil in (lambda d: d.update(surprise=1), lambda d: d["target"].update(surprise={}),
                  lambda d: d["threads"][0]["frames"][0].update(surprise=[]),
                  lambda d: d["threads"][0]["state"].append("surprised"),
                  lambda d: d["threads"][0]["frames"][0].update(kind="surprise")):
        spoil(document)
        assert not list(analyzer.schema_validator(strict=False).iter_errors(document))
        assert list(analyzer.schema_validator().iter_errors(document))
    document["target"]["pid"] = "surprise"
    assert list(analyzer.schema_validator(strict=False).iter_errors(document))


def test_schema_describes_each_member():
    def check(node, path):
        if isinstance(node, dict):
            for name, member in node.get("properties", {}).items():
                assert member.get("description", "").endswith("."), path + [name]
        for name, one in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else []:
            check(one, path + [name])

    with open(analyzer.SCHEMA) as file:
        check(json.load(file), [])


def test_plain_core_fits_schema():
    result = analyzer.json_of(cores.make_plain_core())
    analyzer.assert_fits_schema(result.json)


def test_one_object_and_a_newline(any_core):
    out = analyzer.run("--format", "json", any_core).stdout
    assert out.startswith("{") and out.endswith("}\n")
    json.loads(out)


def test_orders_mirror_each_other(any_core):
    inner = analyzer.json_of(any_core).json
    outer = analyzer.json_of(any_core, "--order", "outermost-first").json
    # The contract: frames[0] of JSON is the innermost one, whatever the text shows.
    assert inner["threads"] == outer["threads"]
