"""The formats that others read, each read back: hostile names, many reports, long stacks, nothing at all."""
import json
import os
import re
import subprocess
import sys
import urllib.parse

import pytest

import analyzer
import cores
import made_reports
from made_reports import frame, report, thread

HOSTILE = "</script><script>alert(1)</script>\"'`]]>&%0A::error::\n\x1b[31m\u202e|*_<!--"


def stack(*more):
    return [frame("__strlen", None, None, "native", module="/usr/lib/libc.so.6", pc="0x7f0000001000", offset="0x1000",
                  build_id="ab" * 20, symbol="__strlen_evex", sp="0x7ffc00000000", trust="context"),
            *more, frame("<module>", "/app/main.py", 1)]


def sample(folder):
    """Two deaths of one cause in the repository (below another prefix), one hostile, one unread."""
    (folder / "pkg").mkdir()
    (folder / "pkg" / "work.py").write_text("import os\n\ndef parse(text):\n    return text[0] & 1 < 2\n")
    frames = stack(frame("parse", "/app/pkg/work.py", 4, column=12, end_line=4, end_column=19,
                         locals={"token": "'s3cr3t'"}))
    other = thread(78, [frame("wait", "/usr/lib/python3.11/threading.py", 320)], "worker-0", ["idle"])
    unread = report("core.4", [], "x")
    unread.update(signature=None, crash=None, warnings=[{"code": "no-report", "message": "it was cut off"}])
    return [report("core.1", [thread(77, frames), other], "SIGSEGV in parse", test="tests/test_w.py::TestW::test_parse[a/b::c]"),
            report("core.2", [thread(77, frames), other], "SIGSEGV in parse"),
            report("core.3", [thread(77, [frame(HOSTILE, "/app/" + HOSTILE, 3, locals={HOSTILE: HOSTILE})], HOSTILE)],
                   HOSTILE, test=HOSTILE, arguments=[HOSTILE]),
            unread]


def written(folder, reports, name, *arguments, **more):
    result = made_reports.triage(folder, reports, "--output", "%s=out" % name, *arguments, **more)
    assert not result.stderr, result.describe()
    return (folder / "out").read_text()


def test_groups(tmp_path):
    document = json.loads(written(tmp_path, sample(tmp_path), "groups"))
    analyzer.assert_fits_schema(document)
    assert [one["reports"] for one in document["groups"]] == [["core.1", "core.2"], ["core.3"], ["core.4"]]
    for one in sample_again(tmp_path):
        analyzer.assert_fits_schema(one)


def test_sarif(tmp_path):
    document = json.loads(written(tmp_path, sample(tmp_path), "sarif"))
    run, = document["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert document["version"] == "2.1.0" and [one["occurrenceCount"] for one in results] == [2, 1, 1]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in results)
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "pkg/work.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 4, "startColumn": 12, "endLine": 4, "endColumn": 19,
                               "snippet": {"text": "return text[0] & 1 < 2"}}
    flow = results[0]["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [one["location"]["message"]["text"].split()[0] for one in flow] == ["<module>", "parse", "__strlen"]
    assert [len(one["frames"]) for one in results[0]["stacks"]] == [3, 1]
    hashed = results[0]["fingerprints"]["pystackCore/v1"]
    assert results[0]["partialFingerprints"]["primaryLocationLineHash"] == hashed[:16] + ":1"
    assert "baselineState" not in results[0] and results[2]["ruleId"] == "unread" and "cut off" in results[2]["message"]["text"]
    for uri in re.findall(r'"uri": "([^"]*)"', json.dumps(document)):
        assert re.fullmatch(r"[A-Za-z0-9._~/:%-]*", uri), uri
    place = results[1]["codeFlows"][0]["threadFlows"][0]["locations"][0]["location"]["physicalLocation"]
    assert urllib.parse.unquote(place["artifactLocation"]["uri"]) == "file:///app/" + HOSTILE
    (tmp_path / "known").write_text(hashed)
    document = json.loads(written(tmp_path, sample_again(tmp_path), "sarif", "--baseline", "known"))
    assert [one["baselineState"] for one in document["runs"][0]["results"]] == ["unchanged", "new", "new"]
    assert "snippet" not in written(tmp_path, sample_again(tmp_path), "sarif", "--no-source")


def sample_again(folder):
    for path in sorted((folder / "pkg").iterdir()):
        path.unlink()
    (folder / "pkg").rmdir()
    return sample(folder)


# Members and types that satyr 0.43 reads (lib/core_stacktrace.c, core_thread.c, core_frame.c: sr_core_..._from_json(); of json-c
# an int has 64 bits and a sign): it refuses another type, and drops what it does not know.
SATYR_FRAME = {"address": int, "build_id": str, "build_id_offset": int, "function_name": str, "file_name": str}
SATYR_THREAD = {"crash_thread": bool, "frames": list}
SATYR = {"signal": int, "executable": str, "only_crash_thread": bool, "stacktrace": list}


def read_satyr(text):
    """The stacktraces of an output, one a line, as strictly as satyr reads them."""
    def check(item, members):
        assert isinstance(item, dict) and all(type(value) is members[name] for name, value in item.items()), item
        assert all(0 <= value < 1 << 63 for value in item.values() if type(value) is int), item
        return item

    found = [check(json.loads(line), SATYR) for line in text.splitlines()]
    for one in found:
        assert 0 < one.get("signal", 1) < 1 << 16
        threads = [check(thread, SATYR_THREAD) for thread in one["stacktrace"]]
        assert [thread["crash_thread"] for thread in threads if "crash_thread" in thread] in ([], [True])
        for line in [check(line, SATYR_FRAME) for thread in threads for line in thread["frames"]]:
            assert re.fullmatch("[0-9a-f]+", line.get("build_id", "0")) and ("build_id" in line or "build_id_offset" not in line)
    return found


def test_satyr(tmp_path):
    lines = read_satyr(written(tmp_path, sample(tmp_path), "satyr"))
    assert len(lines) == 3 and lines[0]["signal"] == 11 and lines[0]["executable"] == "/usr/bin/python3"
    first, second = lines[0]["stacktrace"]
    assert first["crash_thread"] is True and "crash_thread" not in second
    assert first["frames"][0] == {"address": 0x7f0000001000, "build_id": "ab" * 20, "build_id_offset": 0x1000,
                                  "function_name": "__strlen_evex", "file_name": "/usr/lib/libc.so.6"}
    assert first["frames"][1] == {"function_name": "parse", "file_name": "/app/pkg/work.py"}
    # Addresses that have the sign's bit, no thread, names that are no text.
    odd = [report("core.5", [thread(77, [frame("time", None, None, "native", module="[vsyscall]", pc="0xffffffffff600000",
                                               offset="0xfffffffffffffff0", build_id="ab" * 20, symbol="time")])]),
           report("core.6", []), report("core.7", [thread(77, [frame("f", "/app/\n\x01", 2)])])]
    first, second, third = read_satyr(written(tmp_path, odd, "satyr"))
    assert first["stacktrace"][0]["frames"][0]["function_name"] == "time" and not second["stacktrace"] and third["stacktrace"]


def test_sentry(tmp_path):
    text = written(tmp_path, sample(tmp_path), "sentry")
    events = [json.loads(line) for line in text.splitlines()]
    assert len(events) == 3 and len({event["event_id"] for event in events}) == 3
    assert events[0]["fingerprint"] == events[1]["fingerprint"] != events[2]["fingerprint"]
    exception, = events[0]["exception"]["values"]
    assert exception["type"] == "SIGSEGV" and exception["thread_id"] == 77
    main, parse, strlen = exception["stacktrace"]["frames"]
    assert parse["in_app"] and parse["platform"] == "python" and parse["filename"] == "pkg/work.py" and parse["lineno"] == 4
    assert strlen["platform"] == "native" and strlen["instruction_addr"] == "0x7f0000001000" and not strlen["in_app"]
    assert events[0]["debug_meta"]["images"][0]["debug_id"] == "abababab-abab-abab-abab-abababababab"
    assert events[0]["tags"]["test"].startswith("tests/test_w.py")
    assert "s3cr3t" not in text and [one.get("crashed") for one in events[0]["threads"]["values"]] == [True, False]


@pytest.mark.parametrize("option,named", [
    ("--source-map=/build/pkg=%s/renamed", "renamed/work.py"),
    ("--source-map=/build/=%s/root/build/", "root/build/pkg/work.py"),
    ("--sysroot=%s/root", "root/build/pkg/work.py"),
    ("--source-dir=%s/other", "other/pkg/work.py"),
])
def test_where_sources_are_now(tmp_path, option, named):
    """As for one report; the file of the same name that lies elsewhere is another one."""
    text = "import os\n\ndef parse(text):\n    return %s\n"
    for name in ("renamed/work.py", "root/build/pkg/work.py", "other/pkg/work.py", "pkg/work.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text % ("'this'" if name == named else "'decoy'"))
    reports = [report("core.1", [thread(77, stack(frame("parse", "/build/pkg/work.py", 4)))])]
    found = {name: written(tmp_path, reports, name, option % tmp_path) for name in ("sarif", "github", "html", "sentry", "satyr")}
    for name in ("sarif", "html", "sentry"):
        assert "this" in found[name] and "decoy" not in found[name], name
    place = json.loads(found["sarif"])["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": named, "uriBaseId": "SRCROOT"} and "this" in place["region"]["snippet"]["text"]
    assert found["github"].startswith("::error file=%s,line=4," % named) and named in found["html"]
    frames = json.loads(found["sentry"].splitlines()[0])["exception"]["values"][0]["stacktrace"]["frames"]
    assert [one["filename"] for one in frames if one["function"] == "parse"] == [named]
    # As text, it calls files as the process did.
    assert '"/build/pkg/work.py"' in found["satyr"]


def test_values_only_when_asked(tmp_path):
    """Also where the reports hold them."""
    assert "s3cr3t" in written(tmp_path, sample(tmp_path), "sentry", "--locals")
    for name in FORMATS:
        assert "s3cr3t" not in written(tmp_path, sample_again(tmp_path), name)


def of_recursions(longest, *others):
    """Text lines of a stack f f g h g h g h g h k, which has these recursions."""
    names = ["f"] * 2 + ["g", "h"] * 4 + ["k"]
    one = thread(77, [frame(name, "/app/%s.py" % name, 4) for name in names], recursion=longest)
    if others:
        one["other_recursions"] = list(others)
    return [report("core.1", [one], "SIGSEGV in f")]


def recursion(first, frames, times):
    return {"first": first, "frames": frames, "times": times}


@pytest.mark.parametrize("name", ["text", "markdown", "junit"])
def test_recursions_are_folded(tmp_path, name):
    lines = written(tmp_path, of_recursions(recursion(2, 2, 4), recursion(0, 1, 2)), name).splitlines()
    shown = [line.split("/app/")[0].split() for line in lines if re.match(r" *(#\d|--)", line)]
    assert [one[2] for one in shown if one[0] != "--"] == ["f", "g", "h", "k"]
    assert [one[0] for one in shown] == ["#0", "--", "#2", "#3", "--", "#10"]
    assert any(line.endswith("#1 to #1: the frame above, 1 time more") for line in lines)
    assert any(line.endswith("#4 to #9: the 2 frames above, 3 times more") for line in lines)


@pytest.mark.parametrize("claimed", [recursion(0, 2 ** 62, 2 ** 62), recursion(0, 6, 2), recursion(-1, 1, 2), recursion(0, 0, 9),
                                     recursion(0, 1, -5), recursion(2 ** 63 - 1, 1, 2), recursion(10, 1, 2), "x", None])
def test_recursions_of_more_frames_than_there_are(tmp_path, claimed):
    text = written(tmp_path, of_recursions(claimed, claimed), "text")
    assert [line.split()[0] for line in text.splitlines() if re.match(r" *(#\d|--)", line)] == ["#%d" % i for i in range(11)]


def scaled():
    """A thousand reports in ten groups, one with a stack of 10,000 frames."""
    deep = [frame("recurse", "/app/pkg/work.py", 4) for _ in range(10000)]
    return [report("core.%d" % number, [thread(77, deep if number == 5 else stack())], "SIGSEGV in g%d" % (number % 10))
            for number in range(1000)]


FORMATS = ["text", "groups", "markdown", "github", "html", "junit", "sarif", "satyr", "sentry"]


def test_all_formats_are_tried():
    """Those of --help."""
    text = analyzer.run("triage", "--help").stdout
    found = re.findall(r"^ {30}(\w+): ", text[:text.index("-o FILE")], re.M)
    assert sorted(found) == sorted([*FORMATS, "ndjson"])
    with open(os.path.join(cores.SOURCE, "docs/triage.md")) as file:
        described = re.findall(r"^\| `(\w+)` \|", file.read(), re.M)
    assert set(found) <= set(described)


def test_scale(tmp_path):
    """All formats in one run, in little time and memory."""
    outputs = [word for name in FORMATS for word in ("--output", "%s=out.%s" % (name, name))]
    made_reports.triage(tmp_path, scaled(), *outputs, timeout=60, memory=analyzer.GIGABYTE)
    sizes = {name: (tmp_path / ("out." + name)).stat().st_size for name in FORMATS}
    assert sizes["markdown"] < 1 << 20 and sizes["sarif"] < 10 << 20, sizes
    assert len((tmp_path / "out.sentry").read_text().splitlines()) == 1000
    lines = (tmp_path / "out.github").read_text().splitlines()
    assert len(lines) == 10


def test_limits_of_github(tmp_path):
    """A step's summary has at most 1 MiB; ten errors and ten warnings are shown of a step."""
    wide = [thread(77, [frame("f" * 900, "/" + "`\n" * 900, 1) for _ in range(40)])]
    reports = [report("core.%03d" % number, wide, "SIGSEGV in h%d" % number, test="a/b.py::c,d:e%") for number in range(100)]
    (tmp_path / "known").write_text("\n".join(one["signature"]["hash"] for one in reports[:30]))
    text = written(tmp_path, reports, "markdown")
    assert 900000 < len(text.encode()) < 1 << 20 and re.search(r"\n… \d+ more groups\n$", text)
    assert text.count("```") % 2 == 0
    lines = written(tmp_path, reports, "github", "--baseline", "known").splitlines()
    assert [line.split()[0] for line in lines] == ["::warning"] * 10 + ["::error"] * 10
    assert all(line.endswith("in the test a/b.py::c,d:e%25") for line in lines)


def test_hostile_titles(tmp_path):
    """No name begins a command of a workflow, ends a block of code, or is markup."""
    reports = sample(tmp_path)
    for line in written(tmp_path, reports, "github").splitlines():
        command = re.fullmatch(r"::error ((?:\w+=[^,:]*)(?:,\w+=[^,:]*)*)::(.*)", line)
        assert command and not analyzer.forbidden_characters(line), line
    text = written(tmp_path, sample_again(tmp_path), "markdown")
    outside = "".join(text.split("```")[::2])
    assert not re.search(r"(?<!\\)[<>\[\]|*]", outside.replace("**new**", "")) and not analyzer.forbidden_characters(text)
    for name in FORMATS:
        assert not analyzer.forbidden_characters(written(tmp_path, sample_again(tmp_path), name)), name


@pytest.mark.parametrize("count", [0, 2])
def test_deaths_without_a_core(tmp_path, count):
    """And none at all: each format has a file that its readers take."""
    reports = [report(None, [], kind="exit", test="a/test_b.py::test_%d" % number) for number in range(count)]
    for number, one in enumerate(reports):
        one["signature"] = None
        one["target"]["pid"] = 100 + number
        one["crash"].update(signal="SIGKILL", signal_number=9, summary="killed: out of memory", cause=None)
    (tmp_path / "in.ndjson").write_text("".join(json.dumps(one) + "\n" for one in reports))
    outputs = [word for name in FORMATS for word in ("--output", "%s=out.%s" % (name, name))]
    result = analyzer.run("triage", *outputs, "--reports", "in.ndjson", cwd=tmp_path)
    assert result.returncode == analyzer.EXIT_COMPLETE and not result.stderr, result.describe()
    text = {name: (tmp_path / ("out." + name)).read_text() for name in FORMATS}
    assert len(json.loads(text["groups"])["groups"]) == len(json.loads(text["sarif"])["runs"][0]["results"]) == count
    assert len({json.loads(line)["event_id"] for line in text["sentry"].splitlines()}) == count
    read_satyr(text["satyr"])
    assert text["satyr"].count('"signal":9') == text["junit"].count('type="SIGKILL"') == count
    assert text["html"].count("<article") == text["github"].count("::error ") == text["markdown"].count("### ") == count
    assert "not read" not in "".join(text.values())


@pytest.mark.parametrize("name", FORMATS)
def test_no_file_when_it_fails(tmp_path, name):
    """A folder where the file should be: nothing is left, and the exit code says so."""
    (tmp_path / "out").mkdir()
    result = made_reports.triage(tmp_path, sample(tmp_path), "--output", "%s=out" % name)
    assert result.returncode == analyzer.EXIT_NOTHING and "out: " in result.stderr
    left = ["core.1", "core.2", "core.3", "core.4", "made.ndjson", "out", "pkg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left


# ---- by programs that others wrote; installed where there is a package index ----

def installed(tmp_path, *packages):
    if not analyzer.THOROUGH:
        pytest.skip("installs %s: --thorough" % " ".join(packages))
    done = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(tmp_path / "venv")], capture_output=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    if done.returncode == 0:
        done = subprocess.run([python, "-m", "pip", "install", "-q", *packages], capture_output=True, timeout=600)
    if done.returncode:
        pytest.skip("pip: %s" % done.stderr.decode(errors="replace")[-300:])
    return python


NORMALIZE = """
import json, sys
from sentry_relay.processing import StoreNormalizer
normalizer = StoreNormalizer(project_id=1, protocol_version="7", is_renormalize=False, remove_other=True, enable_trimming=True)
def remarks(node, path=""):
    if isinstance(node, dict):
        if "_meta" in node:
            yield path, node["_meta"]
        for name, value in node.items():
            yield from remarks(value, path + "/" + name)
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from remarks(value, "%s/%d" % (path, number))
def values(node, path=()):
    if isinstance(node, (dict, list)):
        for name, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from values(value, (*path, name))
    else:
        yield path, node
for line in sys.stdin:
    sent = json.loads(line)
    event = normalizer.normalize_event(json.loads(line))
    assert not event.get("errors") and not list(remarks(event)), list(remarks(event))
    # Pairs, there.
    sent["tags"] = [[name, sent["tags"][name]] for name in dict(event["tags"])] if len(event["tags"]) == len(sent["tags"]) else ()
    lost = set(values(sent)) - set(values(event))
    assert not lost, lost
    print(len(event["exception"]["values"][0]["stacktrace"]["frames"]), len(event["debug_meta"]["images"]))
"""


def test_sentry_by_relay(tmp_path):
    """Sentry's own normalization finds nothing that it has to drop, and keeps all as it is."""
    python = installed(tmp_path, "sentry-relay")
    reports = [one for one in sample(tmp_path) if one["target"]["path"] != "core.3"]
    done = subprocess.run([python, "-c", NORMALIZE], input=written(tmp_path, reports, "sentry"), capture_output=True, text=True)
    assert done.stdout.splitlines() == ["3 1", "3 1"], done.stderr


def test_sarif_by_its_schema_and_a_viewer(tmp_path):
    """sarif-tools reads it and makes its page; the schema is the one that npm's multitool brings."""
    python = installed(tmp_path, "sarif-tools")
    (tmp_path / "a.sarif").write_text(written(tmp_path, sample(tmp_path), "sarif"))
    tool = str(tmp_path / "venv" / "bin" / "sarif")
    done = subprocess.run([tool, "summary", "a.sarif"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "null-pointer" in done.stdout, done.stderr
    done = subprocess.run([tool, "html", "-o", "a.html", "a.sarif"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "null-pointer" in (tmp_path / "a.html").read_text(), done.stderr
    assert python
    done = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "@microsoft/sarif-multitool-linux"],
                          cwd=tmp_path, capture_output=True, text=True)
    schema = tmp_path / "node_modules/@microsoft/sarif-multitool-linux/sarif-2.1.0.json"
    if not schema.exists():
        pytest.skip("npm: %s" % done.stderr[-300:])
    import jsonschema
    validator = jsonschema.Draft202012Validator(json.loads(schema.read_text()))
    for arguments in (), ("--locals",), ("--baseline", "made.ndjson"):
        again = sample_again(tmp_path)
        document = json.loads(written(tmp_path, again, "sarif", *arguments))
        assert not [error.message for error in validator.iter_errors(document)]
