"""All stacks as one tree with counts: of a thousand threads, of many processes, of the reports of many hosts."""
import contextlib
import json
import os
import re
import signal

import pytest

import analyzer
import cores
import interpreters
import living
import resting

THOUSAND = os.path.join(cores.PROGRAMS, "thousand.py")
COUNT = 1000
SCREEN = 50

# Ranks as a launcher starts them; one of them is late.
RANKS = """
import multiprocessing, os, sys, time

def barrier():
    time.sleep(600)

def step(rank, tell):
    tell.put(rank)
    barrier() if rank != 5 else late()

def late():
    time.sleep(600)

if __name__ == "__main__":
    start = multiprocessing.get_context("spawn")
    tell = start.SimpleQueue()
    for rank in range(8):
        os.environ["RANK"] = str(rank)
        start.Process(target=step, args=(rank, tell), daemon=True).start()
    del os.environ["RANK"]
    for rank in range(8):
        tell.get()
    print("ready", flush=True)
    time.sleep(600)
"""


def tree_of(document):
    """Each node as (functions from the outermost on, threads), by its parents."""
    analyzer.assert_fits_schema(document)
    paths: list = []
    for node in document["nodes"]:
        paths.append(() if node["parent"] is None else paths[node["parent"]] + (node["function"],))
    return paths


def assert_adds_up(document):
    nodes = document["nodes"]
    through = [len(node["ends"]) for node in nodes]
    for index in range(len(nodes) - 1, 0, -1):
        assert nodes[index]["parent"] < index
        through[nodes[index]["parent"]] += through[index]
    assert through == [node["threads"] for node in nodes]
    assert through[0] == document["threads"] == sum(process["threads"] for process in document["processes"])
    assert document["stacks"] == sum(1 for node in nodes if node["ends"])


@pytest.mark.parametrize("version", [(3, 8), (3, 11), (3, 13)], ids=str)
def test_a_thousand_threads(version, tmp_path):
    interpreter = interpreters.find_system() if version == (3, 11) else interpreters.find_version(*version)
    if interpreter is None:
        pytest.skip("no CPython %d.%d here" % version)
    with living.running([interpreter.path, "-s", THOUSAND, str(COUNT)]) as process:
        resting.wait_until_at_rest(process.pid)
        text = living.report(process.pid, "--summary", "--mode", "python").stdout
        merged = living.report(process.pid, "--summary").stdout
        whole = living.report(process.pid, "--summary", "--mode", "python", "--format", "json").json
        living.report(process.pid, "--mode", "python", "--format", "json", "-o", tmp_path / "report.json")
    assert len(text.splitlines()) <= SCREEN and len(merged.splitlines()) <= SCREEN, merged
    assert "\n1,001 threads, 4 different stacks, the odd ones first\n" in text
    lines = text.splitlines()
    place = {name: next(i for i, line in enumerate(lines) if re.search(r" (\S*\.)?%s  " % name, line))
             for name in ("again", "odd", "alike")}
    assert place["again"] < place["odd"] < place["alike"]
    assert re.match(r" +989 +Python +alike  programs/thousand\.py:\d+$", lines[place["alike"]])
    assert re.match(r" +10 +Python +odd  ", lines[place["odd"]])
    assert re.search(r"again  .* recursion of 1 frame, \d+ times", text)
    assert_adds_up(whole)
    paths = tree_of(whole)
    alike = next(i for i, path in enumerate(paths) if path and path[-1] == "alike")
    assert whole["nodes"][alike]["threads"] == COUNT - 11
    named = {end["name"] for node, path in zip(whole["nodes"], paths) if "odd" in path for end in node["ends"]}
    assert named == {"w%d" % number for number in range(7, COUNT, 100)}
    # The same of the report that was written.
    again = analyzer.run("summary", "--format", "json", tmp_path / "report.json")
    assert again.returncode == 0, again.describe()
    assert [(tree, node["threads"], node["line"]) for tree, node in zip(tree_of(again.json), again.json["nodes"])] == \
        [(tree, node["threads"], node["line"]) for tree, node in zip(paths, whole["nodes"])]


@contextlib.contextmanager
def ranks(interpreter, folder):
    (folder / "ranks.py").write_text(RANKS)
    with living.running([interpreter.path, "-s", str(folder / "ranks.py")], start_new_session=True) as process:
        try:
            resting.wait_until_at_rest(process.pid)
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_ranks_stand_where_pids_do(system, tmp_path):
    with ranks(system, tmp_path) as process:
        text = living.report(process.pid, "--children", "--summary", "--mode", "python").stdout
        report = living.report(process.pid, "--children", "--mode", "python").stdout
        lines = living.report(process.pid, "--children", "--mode", "python", "--format", "json").stdout
    late = re.search(r"Python  late .*\n(?:.*\n)*? +(= .*)", text)
    assert late and " of rank 5" in late.group(1), text
    assert re.search(r"barrier .*\n +(?:.*\n)*? += ranks 0-4, 6, 7\b", text), text
    headings = " ".join(line for line in report.splitlines() if line.startswith("Thread"))
    assert sorted(re.findall(r"\brank (\d)/\d+", headings)) == list("01234567"), report
    # Reports of two hosts, one of which has only half of the ranks, in any order.
    reports = [json.loads(line) for line in lines.splitlines()]
    first = [one for one in reports if one["running"]["rank"] and one["running"]["rank"]["number"] < 4]
    second = [one for one in reports if one["running"]["rank"] and one["running"]["rank"]["number"] >= 4]
    assert len(first) == len(second) == 4
    (tmp_path / "a.json").write_text("\n".join(map(json.dumps, first)))
    (tmp_path / "b.json").write_text("\n".join(json.dumps(one, indent=1) for one in second))
    merged = analyzer.run("summary", tmp_path / "b.json", tmp_path / "a.json")
    assert merged.returncode == 0 and merged.stderr == "", merged.describe()
    assert "= ranks 0-4, 6, 7 \u00b7 sleeps" in merged.stdout and " of rank 5 \u00b7 sleeps" in merged.stdout, merged.stdout
    document = analyzer.run("summary", "--format", "json", tmp_path / "a.json", tmp_path / "b.json").json
    assert_adds_up(document)
    assert sorted(process["rank"] for process in document["processes"]) == list(range(8))


def test_one_rank_of_several_processes_is_none(tmp_path, any_core):
    """What a rank has started inherits its number: then pids tell them apart, and hosts."""
    report = json.loads(json.dumps(analyzer.json_of(any_core).json))
    texts = []
    for pid, host in ((11, "one"), (12, "two")):
        report["target"].update(pid=pid, kind="process", path=None)
        report["running"].update(host=host, rank={"number": 3, "variable": "RANK"})
        texts.append(json.dumps(report))
    (tmp_path / "both.json").write_text("".join(texts))
    text = analyzer.run("summary", tmp_path / "both.json").stdout
    assert "processes one:11, two:12" in text and "rank" not in text


@pytest.mark.cases(["worker_crash"])
def test_crashed_first(core):
    text = analyzer.run("--summary", core.path).stdout
    first = text.split("different stack")[1].split(" = ")[1].splitlines()[0]
    assert "crashed" in first, text
    assert_adds_up(analyzer.run("--summary", "--format", "json", core.path).json)


def test_too_many_stacks_are_counted(system, tmp_path):
    program = ("import threading, time\n"
               "source = ''.join('def f%d(): time.sleep(1000)\\n' % n for n in range(60))\n"
               "exec(source)\n"
               "for n in range(60): threading.Thread(target=globals()['f%d' % n], daemon=True).start()\n"
               "print('ready', flush=True); time.sleep(1000)\n")
    with living.running([system.path, "-s", "-c", program]) as process:
        resting.wait_until_at_rest(process.pid)
        text = living.report(process.pid, "--summary", "--mode", "python").stdout
        whole = living.report(process.pid, "--summary", "--mode", "python", "--all").stdout
    assert "\n61 threads, 61 different stacks" in text
    assert len(text.splitlines()) <= SCREEN and re.search("\u2026 in 45 more stacks", text), text
    assert len(re.findall(r"Python  f\d+ ", whole)) == 60


# ---- reports that are none ----

@pytest.mark.parametrize("text,words", [
    ("", "there is no report in it"), ("{", "it is no JSON"), ("[]", "it is no report"), ('{"schema": 3}', "it is no report"),
    ('{"schema": "pystack-core-files/1"}', 'its schema is "pystack-core-files/1"'),
    ('{"schema": "pystack-core/1", "target": {}, "threads": [{"frames": 5}]}', '"frames" is no list'),
    ("[" * 100000, "it is no JSON"), ("\x00" * 100, "it is no JSON"), ("\x1b[31m", "it is no JSON")])
def test_what_is_no_report(text, words, tmp_path):
    (tmp_path / "bad.json").write_text(text)
    result = analyzer.run("summary", tmp_path / "bad.json")
    assert result.returncode == analyzer.EXIT_NOTHING and result.stdout == ""
    assert words in result.stderr and result.stderr.count("\n") == 1, result.describe()
    assert not analyzer.forbidden_characters(result.stderr)


def test_the_others_are_shown(tmp_path, any_core):
    (tmp_path / "good.json").write_text(analyzer.json_of(any_core).stdout)
    (tmp_path / "half.json").write_text(analyzer.json_of(any_core).stdout + "{")
    result = analyzer.run("summary", tmp_path / "half.json", tmp_path / "good.json", tmp_path / "none.json")
    assert result.returncode == analyzer.EXIT_PARTIAL
    assert "half.json: report 2 of it cannot be read" in result.stderr and "none.json: No such file" in result.stderr
    assert re.match("2 of ", result.stdout)
    with open(tmp_path / "good.json") as file:
        piped = analyzer.run("summary", "-", stdin=file)
    assert piped.returncode == 0 and "different stack" in piped.stdout


@pytest.mark.parametrize("words", [(), ("--format", "xml", "x"), ("--colour", "x"), ("-o",)])
def test_wrong_usage(words):
    result = analyzer.run("summary", *words)
    assert result.returncode == analyzer.EXIT_USAGE and "summary --help" in result.stderr


def test_help():
    result = analyzer.run("summary", "--help")
    assert result.returncode == 0 and result.stdout.startswith("Usage: pystack-core summary")
    assert "pystack-core summary" in analyzer.run("--help").stdout
