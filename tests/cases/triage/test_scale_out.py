"""Reports of several runs and machines in the same groups: --reports, the Dask driver, questions by DuckDB."""
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import analyzer
import cores
import interpreters

DRIVER = os.path.join(cores.SOURCE, "docs/examples/triage_dask.py")
PROGRAM = """import ctypes
def %(name)s():
    ctypes.string_at(0)
%(name)s()
"""
# A cluster of two processes that lasts until its standard input ends.
CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=None) as cluster:
        print(cluster.scheduler_address, *[worker.pid for worker in cluster.workers.values()], flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Thirteen cores of two causes, one packed, and one that is cut off."""
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    top = tmp_path_factory.mktemp("scale")
    (top / "cores" / "sub").mkdir(parents=True)
    for name in ("load", "save"):
        work = tmp_path_factory.mktemp(name)
        (work / "dies.py").write_text(PROGRAM % {"name": name})
        done = subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", interpreter.path, "-s", "dies.py"],
                              cwd=work, capture_output=True, timeout=600)
        assert done.returncode == -signal.SIGSEGV
        for number in range(6):
            shutil.copy(work / "core", top / "cores" / ("sub" if number % 2 else ".") / ("core.%s.%d" % (name, number)))
    data = (top / "cores" / "core.load.0").read_bytes()
    (top / "cores" / "other.gz").write_bytes(gzip.compress(data, 1))
    (top / "cores" / "core.cut").write_bytes(data[:3000])
    (top / "cores" / "notes.gz").write_bytes(gzip.compress(b"no core"))
    (top / "cores" / "notes.txt").write_text("no core")
    return top


def triage(folder, *arguments, **more):
    return analyzer.run("triage", *arguments, cwd=folder, timeout=300, **more)


@pytest.fixture(scope="module")
def expected(folder):
    """The groups of one run over all, and its reports."""
    result = triage(folder, "-j", "2", "--format", "groups", "--output", "ndjson=all.ndjson", "cores")
    return result.stdout_bytes, sorted((folder / "all.ndjson").read_bytes().splitlines())


def test_given_reports(folder, expected, tmp_path):
    """Reports of two runs are the groups of one run over all cores; with cores beside them, too."""
    triage(folder, "--format", "ndjson", "-o", tmp_path / "a", "cores/sub")
    named = sorted(path.relative_to(folder) for path in (folder / "cores").glob("*")
                   if path.is_file() and "notes" not in path.name)
    triage(folder, "--format", "ndjson", "-o", tmp_path / "b", *named[::-1])
    for given in (["--reports", tmp_path / "a", "--reports", tmp_path / "b"], ["--reports", tmp_path / "b", "cores/sub"],
                  ["--reports", folder / "all.ndjson"]):
        result = triage(folder, "--format", "groups", "--output", "ndjson=%s" % (tmp_path / "all"), *given)
        assert result.stdout_bytes == expected[0] and result.returncode == analyzer.EXIT_PARTIAL
        assert sorted((tmp_path / "all").read_bytes().splitlines()) == expected[1]
    # Also where the cores are not.
    assert triage(tmp_path, "--format", "groups", "--reports", folder / "all.ndjson").stdout_bytes == expected[0]
    (tmp_path / "bad").write_text("no report\n\n")
    result = triage(tmp_path, "--reports", tmp_path / "bad")
    assert "1 could not be read" in result.stdout and result.returncode == analyzer.EXIT_NOTHING
    assert triage(tmp_path, "--reports", tmp_path / "none").returncode == analyzer.EXIT_NOTHING


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python with Dask and DuckDB: PSC_TEST_DASK names one, or it is made."""
    named = os.environ.get("PSC_TEST_DASK")
    if named:
        return named
    if not analyzer.THOROUGH:
        pytest.skip("installs dask, distributed and duckdb: --thorough")
    place = tmp_path_factory.mktemp("venv")
    done = subprocess.run([sys.executable, "-m", "venv", str(place)], capture_output=True)
    made = str(place / "bin" / "python")
    if done.returncode == 0:
        done = subprocess.run([made, "-m", "pip", "install", "-q", "dask", "distributed", "duckdb"], capture_output=True,
                              timeout=1200)
    if done.returncode:
        pytest.skip("pip: %s" % done.stderr.decode(errors="replace")[-300:])
    return made


def drive(python, folder, *arguments, **more):
    return subprocess.Popen([python, DRIVER, "--program", analyzer.PROGRAM, "--format", "groups", *arguments, "cores"],
                            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def test_dask(folder, expected, python, tmp_path):
    with drive(python, folder, "--reports", str(tmp_path / "reports")) as driver:
        stdout, stderr = driver.communicate(timeout=900)
    assert driver.returncode == analyzer.EXIT_PARTIAL, stderr
    assert stdout == expected[0]
    assert sorted((tmp_path / "reports").read_bytes().splitlines()) == expected[1]


def test_dask_worker_killed(folder, expected, python, tmp_path):
    """One of the two workers is killed when the first reports are there: what it had is done again."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen([python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as cluster:
        assert cluster.stdin and cluster.stdout
        address, first, _ = cluster.stdout.readline().split()
        reports = tmp_path / "reports"
        with drive(python, folder, "--scheduler", address, "--reports", str(reports)) as driver:
            until = time.monotonic() + 900
            while not (reports.exists() and reports.stat().st_size) and driver.poll() is None and time.monotonic() < until:
                os.sched_yield()
            os.kill(int(first), signal.SIGKILL)
            stdout, stderr = driver.communicate(timeout=900)
        cluster.stdin.close()
        cluster.wait(timeout=900)
    assert driver.returncode == analyzer.EXIT_PARTIAL, stderr
    assert stdout == expected[0]
    assert sorted(reports.read_bytes().splitlines()) == expected[1]


def test_questions(folder, expected, python, tmp_path):
    """Each query of the manual, over the reports of a run."""
    with open(os.path.join(cores.SOURCE, "docs/triage.md"), encoding="utf-8") as page:
        queries = re.findall(r"```sql\n(.*?)```", page.read(), re.S)
    assert len(queries) == 7
    shutil.copy(folder / "all.ndjson", tmp_path / "reports.ndjson")
    script = "import duckdb, sys, json\nconnection = duckdb.connect()\n" \
             "for query in json.load(sys.stdin):\n    print(json.dumps(connection.execute(query).fetchall()))\n"
    done = subprocess.run([python, "-c", script], input=json.dumps(queries), cwd=tmp_path, capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stderr
    _, causes, versions, functions, libraries, missing, _ = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row[2] for row in causes] == [7, 6] and "load" in causes[0][1] and "save" in causes[1][1]
    assert versions[0][1:] == ["SIGSEGV", "null-pointer", 13] and versions[1][0] == "none"
    assert ["string_at", 13] in [[row[0], row[2]] for row in functions]
    assert libraries[0][2] == 13 and re.fullmatch("[0-9a-f]+", libraries[0][1])
    assert "no-report" in [row[0] for row in missing] and (tmp_path / "reports.parquet").stat().st_size


def test_lines_of_other_files(tmp_path):
    """A report of others names a file: its line is shown only where it is source of the repository, or everybody's."""
    core = cores.make_core("threads", interpreters.find_system() or interpreters.find_wanted()[-1]).path
    report = json.loads(analyzer.run("--format", "json", core).stdout)
    repository, elsewhere = tmp_path / "repository", tmp_path / "elsewhere"
    for folder in (repository, elsewhere):
        folder.mkdir()
        for name in ("app.py", "key.txt"):
            (folder / name).write_text("line_of_%s_%s()\n" % (folder.name, name[:3]))
            (folder / name).chmod(0o600)
    elsewhere.chmod(0o700)
    frames = [frame for frame in report["threads"][0]["frames"] if frame["kind"] == "python"][:1]
    for thread in report["threads"]:
        thread["frames"] = [dict(frames[0], file=str(folder / name), line=1, function="f")
                            for folder in (repository, elsewhere) for name in ("app.py", "key.txt")]
    (tmp_path / "reports").write_text(json.dumps(report) + "\n")
    page = tmp_path / "page"
    analyzer.run("triage", "--reports", "reports", "--repository", repository, "--output", "html=%s" % page, cwd=tmp_path)
    text = page.read_text()
    assert "line_of_repository_app" in text
    assert "line_of_repository_key" not in text and "line_of_elsewhere_key" not in text
    assert os.geteuid() or "line_of_elsewhere_app" not in text
