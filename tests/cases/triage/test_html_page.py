"""The page of a triage: what is in it, that nothing of a target is markup, and how a real browser shows it."""
import html.parser

import pytest

import analyzer
import browser
import made_reports
from made_reports import frame, report, thread

HOSTILE = "</script></style></code><script>window.bad=1</script><img src=x onerror=window.bad=1>'\"&lt;\x1b\u202e"


def sample(folder):
    (folder / "work.py").write_text("def parse(text):\n    return text[0] < 1\n")
    outer = [frame("run", "/usr/lib/python3/dist-packages/pluggy/_manager.py", 80 + number) for number in range(30)]
    own = frame("parse", str(folder / "work.py"), 2, locals={"token": "'s3cr3t'"})
    frames = [frame("strlen", None, None, "native", module="/lib/libc.so.6", offset="0x1234"), own, *outer]
    idle = [thread(100 + number, [frame("wait", "/usr/lib/python3.11/threading.py", 320)], "worker-%d" % number, ["idle"])
            for number in range(20)]
    unread = report("core.9", [], "x")
    unread.update(signature=None, crash=None, warnings=[{"code": "no-report", "message": "it was cut off"}])
    hostile = report("core.3", [thread(77, [frame(HOSTILE, "/app/" + HOSTILE, 3, locals={HOSTILE: HOSTILE})], HOSTILE,
                                       exception={"type": HOSTILE, "message": HOSTILE, "state": "raised"})],
                     HOSTILE, test=HOSTILE, arguments=[HOSTILE])
    hostile["crash"].update(summary=HOSTILE, message=HOSTILE, signal=HOSTILE, instruction=HOSTILE, during=HOSTILE)
    hostile["warnings"] = [{"code": "x", "message": HOSTILE}]
    hostile["target"]["executable"] = HOSTILE
    return [report("core.1", [thread(77, frames), *idle], "SIGSEGV in parse", test="tests/test_w.py::test_parse"),
            report("core.2", [thread(77, frames)], "SIGSEGV in parse"), hostile, unread]


@pytest.fixture(scope="module", name="folder")
def make_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "known").write_text(sample(folder)[0]["signature"]["hash"])
    result = made_reports.triage(folder, sample(folder), "--output", "html=page.html", "--baseline", "known")
    assert not result.stderr, result.describe()
    made_reports.triage(folder, sample(folder), "--output", "html=locals.html", "--locals")
    return folder


class Elements(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.data = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *one) for one in attrs]

    def handle_data(self, data):
        self.data.append(data)


def test_what_is_in_it(folder):
    text = (folder / "page.html").read_text()
    assert not set(analyzer.forbidden_characters(text.replace("\n", "")))
    for wanted in ("<h1>4 deaths, 2 causes</h1>", "<span>1 new</span> <span>1 known</span> <span>1 could not be read</span>",
                   "tests/test_w.py::test_parse", "return text[0] &lt; 1", "30 outer frames", "20 other threads", "20 ×",
                   "work.py<wbr>:2", "it was cut off"):
        assert wanted in text, wanted
    assert "s3cr3t" not in text and "s3cr3t" in (folder / "locals.html").read_text()
    assert (folder / "locals.html").stat().st_mode & 0o077 == 0
    made_reports.triage(folder, sample(folder), "--output", "html=bare.html", "--no-source")
    assert "return text[0]" not in (folder / "bare.html").read_text()


@pytest.mark.parametrize("name", ["page.html", "locals.html"])
def test_nothing_foreign_is_markup(folder, name):
    elements = Elements((folder / name).read_text())
    assert elements.tags.count("script") == 1 and elements.tags.count("style") == 1 and "img" not in elements.tags
    assert not [one for one in elements.attributes if one[1].startswith("on") or one[1] in ("src", "href", "style")]
    assert any("<script>window.bad=1</script>" in data for data in elements.data)


def test_nothing_at_all(folder, tmp_path):
    """A page of one core, of deaths without a core, and with stacks too long to be read."""
    deep = [frame("recurse", "/app/pkg/work.py", 4) for _ in range(10000)]
    one = report("core.1", [thread(77, deep, recursion={"frames": 1, "times": 10000, "first": 0})], kind="exit")
    one["signature"] = None
    made_reports.triage(tmp_path, [one], "--output", "html=page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<h1>1 death, 1 cause</h1>" in text and "9880 frames are left out" in text and "not read" not in text
    assert len(text) < 200000


def test_in_a_browser(folder):
    """Searched, unfolded and reached by keys; no script but its own; nothing is asked of a network."""
    with browser.Page(folder / "page.html") as page:
        assert page.evaluate("document.title") == "4 deaths, 2 causes"
        assert page.evaluate("window.bad === undefined && document.scripts.length === 1")
        assert page.evaluate("!document.getElementById('tools').hidden")
        page.press("/", "/")
        assert page.evaluate("document.activeElement.id") == "search"
        page.call("Input.insertText", text="pluggy parse")
        shown = "Array.from(document.querySelectorAll('article')).filter(function (a) { return !a.hidden; }).length"
        assert page.evaluate(shown) == 1 and page.evaluate("document.getElementById('found').textContent") == "1 of 3"
        page.press("Escape")
        assert page.evaluate(shown) == 3
        page.press("Tab")
        page.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
        before = page.evaluate("document.querySelector('details').open")
        page.press("Enter", "\r")
        assert page.evaluate("document.querySelector('details').open") is not before
        page.evaluate("document.getElementById('fold').click()")
        assert page.evaluate("Array.from(document.querySelectorAll('article > details')).every(function (d) { return d.open; })")
        assert page.requests() == ["file://%s" % (folder / "page.html")] and not page.violations, page.violations


LUMINANCE = """(function () {
  function light(color) {
    var parts = color.match(/[0-9.]+/g).slice(0, 3).map(function (part) {
      part /= 255; return part <= 0.03928 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4); });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  }
  function ground(element) {
    for (; element; element = element.parentElement) {
      var color = getComputedStyle(element).backgroundColor;
      if (!/, 0\\)$/.test(color)) return color;
    }
    return "rgb(255, 255, 255)";
  }
  var worst = 99;
  document.querySelectorAll("h1, .sub, summary, code, b, dt, dd, .lang, .title, .mark, .note, li").forEach(function (element) {
    var one = light(getComputedStyle(element).color), other = light(ground(element));
    worst = Math.min(worst, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
  });
  return worst;
})()"""


@pytest.mark.parametrize("width, dark", [(1280, False), (1280, True), (390, False), (390, True)])
def test_looks(folder, width, dark):
    """Nothing is wider than the window, unfolded too; text stands out from its ground (WCAG 2.1, 1.4.3: 4.5 to 1)."""
    with browser.Page(folder / "locals.html", width, dark=dark) as page:
        page.evaluate("document.querySelectorAll('details').forEach(function (one) { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(LUMINANCE) >= 4.5
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(13, 17, 23)") == dark
        page.screenshot(folder / ("%d-%s.png" % (width, "dark" if dark else "light")))


def test_without_script(folder):
    with browser.Page(folder / "page.html", script=False) as page:
        tree = str(page.call("Accessibility.getFullAXTree"))
        assert "work.py" in tree and "Search functions" not in tree
