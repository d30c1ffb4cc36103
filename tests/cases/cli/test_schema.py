"""`pystack-core schema`: what the project publishes is in the program."""
import json
import os

import jsonschema

import analyzer
import made_reports


def published():
    return sorted(os.listdir(analyzer.SCHEMAS))


def name_of(file):
    return file[:-len(".schema.json")].rpartition("-")[0] + "/" + file[:-len(".schema.json")].rpartition("-")[2]


def test_list():
    lines = analyzer.run("schema").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [name_of(file) for file in published()]
    assert all(line.endswith(".") and len(line.split()) > 4 for line in lines), lines


def test_each():
    """By its name, and without what all have in common; each names itself, and is a schema."""
    for file in published():
        with open(os.path.join(analyzer.SCHEMAS, file)) as source:
            text = source.read()
        document = json.loads(text)
        short = name_of(file)[len("pystack-core"):].lstrip("-").split("/")[0] or "report"
        assert analyzer.run("schema", name_of(file)).stdout == text == analyzer.run("schema", short).stdout
        jsonschema.Draft202012Validator.check_schema(document)
        # Of lines, the first one says it.
        members = document.get("properties") or document["$defs"]["profile"]["properties"]
        assert document["$id"] == file and document["title"] == name_of(file) == members["schema"]["const"]


def test_wrong_usage():
    for arguments in ["nothing"], ["report", "groups"], ["--all"]:
        result = analyzer.run("schema", *arguments)
        assert result.returncode == analyzer.EXIT_USAGE and not result.stdout and result.stderr


def test_without_a_file(tmp_path):
    """What triage writes fits what the program says, with nothing of the project at hand."""
    one = made_reports.report("core.1", [made_reports.thread(77, [made_reports.frame("f", "/a.py", 1)])])
    result = made_reports.triage(tmp_path, [one], "--format", "groups", "--baseline", "made.ndjson")
    for name, document in ("groups", json.loads(result.stdout)), ("report", one):
        schema = json.loads(analyzer.run("schema", name, cwd=tmp_path).stdout)
        analyzer.close_schema(schema)
        jsonschema.Draft202012Validator(schema).validate(document)
