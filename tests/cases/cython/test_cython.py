"""Cython functions stand on the stack with the names and lines of the .pyx file."""
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import cores
import cython_core

# Innermost first; Python's own frames are in it by their bare names.
STORY = ["dereference", "finish", "callback", "ask", "relax", "Solver.visit", "Solver.steps",
         "Solver.solve", "Solver.__getitem__", "Solver.answer", "fit.inner.<lambda>", "fit.inner",
         "fit", "main", "<module>"]
PYTHON = ("callback", "main", "<module>")


def marked_lines():
    """{function: line} of the "#@ NAME ..." marks in kern.pyx."""
    lines = {}
    with open(os.path.join(cython_core.SOURCES, "kern.pyx")) as file:
        for number, text in enumerate(file, 1):
            found = re.search(r"#@ (.*)$", text)
            for name in found.group(1).split() if found and "NAME" not in text else ():
                lines[name] = number
    return lines


@pytest.fixture(params=cython_core.VARIANTS)
def variant(request, system):
    return request.param


def name_of(frame):
    """A property's getter may be called by the property's name or by its own."""
    if frame["kind"] == "python":
        return frame["name"]
    return re.sub(r"\.__get__$", "", frame["function"])


def own_frames(document):
    return [frame for frame in document["threads"][0]["frames"] if frame["kind"] in ("python", "cython")]


def test_names_in_order(variant):
    """Wrapper and body are one frame; utility code is not there."""
    document = analyzer.json_of(cython_core.make_cython_core(variant)).json
    # No string anywhere names a function that cannot fail.
    story = STORY[1:] if "stripped" in variant else STORY
    assert [name_of(frame) for frame in own_frames(document)] == story


def test_kinds(variant):
    for frame in own_frames(analyzer.json_of(cython_core.make_cython_core(variant)).json):
        assert (frame["kind"] == "python") == (name_of(frame) in PYTHON)
        if frame["kind"] == "cython":
            assert frame["pc"] is not None
            assert "stripped" in variant or frame["symbol"].startswith("__pyx_")


def test_lines(variant):
    origin = cython_core.VARIANTS[variant][2]
    lines = marked_lines()
    if variant == "O0-stripped":
        # No string names the C function of one that cannot fail: what has its name is what Python
        # calls, and that is at the line of `cpdef`.
        with open(os.path.join(cython_core.SOURCES, "kern.pyx")) as file:
            lines["finish"] = file.read().split("cpdef int finish")[0].count("\n") + 1
    for frame in own_frames(analyzer.json_of(cython_core.make_cython_core(variant)).json):
        if frame["kind"] != "cython":
            continue
        if origin == "machine-code" and not frame["line"]:
            continue
        assert os.path.basename(frame["file"]) == "kern.pyx"
        exact = frame["line_source"] == origin
        # Of a function that cannot fail machine code has no line, and of others maybe a near one.
        assert exact or (origin == "machine-code" and frame["line_source"] in ("estimate", None))
        if exact and name_of(frame) in lines:
            assert (name_of(frame), frame["line"]) == (name_of(frame), lines[name_of(frame)])


def test_source_text(variant):
    text = analyzer.run(cython_core.make_cython_core(variant)).stdout
    if cython_core.VARIANTS[variant][2] == "machine-code":
        return
    with open(os.path.join(cython_core.SOURCES, "kern.pyx")) as file:
        marked = [line.split("#@")[0].strip() for line in file if "#@" in line and "NAME" not in line]
    for line in marked:
        assert line in text


def test_nothing_of_cython_is_left_in_the_text(variant):
    text = analyzer.run(cython_core.make_cython_core(variant)).stdout
    assert "__pyx_" not in text and "__Pyx_" not in text


def test_all_shows_the_wrappers(variant):
    document = analyzer.json_of(cython_core.make_cython_core(variant), "--all").json
    hidden = [frame["symbol"] or "" for frame in document["threads"][0]["frames"] if frame["hidden"]]
    if "O0" in variant and "stripped" not in variant:
        assert "__pyx_pw_4kern_1finish" in hidden
        assert any(symbol.startswith("__Pyx_") for symbol in hidden)


def test_native_frames_are_all_there_in_order(variant):
    path = cython_core.make_cython_core(variant)
    merged = analyzer.json_of(path, "--all").json["threads"][0]
    native = analyzer.json_of(path, "--mode", "native", "--all").json["threads"][0]
    assert analyzer.physical_pcs(merged) == analyzer.physical_pcs(native)


def test_complete_and_valid(variant):
    result = analyzer.json_of(cython_core.make_cython_core(variant))
    assert (result.returncode, result.stderr, result.json["warnings"]) == (0, "", [])
    analyzer.assert_fits_schema(result.json)


def test_names_survive_without_the_generated_c(system, tmp_path):
    """The C file is moved away: names stay, lines are the C file's or none, never wrong ones."""
    path = cython_core.make_cython_core("O0")
    lost = tmp_path / "lost"
    shutil.copytree(os.path.dirname(path), lost)
    os.remove(lost / "kern.c")
    result = analyzer.json_of(str(lost / "core"), "--lib-dir", str(lost), "--source-map",
                              "%s=%s" % (os.path.dirname(path), lost))
    assert [name_of(frame) for frame in own_frames(result.json)] == STORY


@pytest.mark.parametrize("below, origin", [
    ([], "machine-code"),
    (["pyx"], "machine-code"),
    (["xml"], "xml"),
    (["xml", "c"], "c-file"),
    (["."], "c-file"),
])
def test_best_source_of_lines(system, below, origin):
    """The generated C goes before the debug XML, that before machine code; each where it is."""
    path = cython_core.make_cython_core("moved")
    elsewhere = os.path.join(os.path.dirname(path), "elsewhere")
    options = [word for name in below for word in ("--source-dir", os.path.join(elsewhere, name))]
    result = analyzer.json_of(path, *options)
    analyzer.assert_fits_schema(result.json)
    frames = [frame for frame in own_frames(result.json) if frame["kind"] == "cython"]
    lines = marked_lines()
    assert origin in {frame["line_source"] for frame in frames}
    for frame in frames:
        if origin != "machine-code":
            assert frame["line_source"] == origin
        if frame["line_source"] == origin and name_of(frame) in lines:
            assert (name_of(frame), frame["line"]) == (name_of(frame), lines[name_of(frame)])
        # The C itself is nobody's line.
        assert frame["file"] is None or frame["file"].endswith("kern.pyx")
    has_text = below and below[0] in (".", "pyx")
    shown = {frame["file"] for frame in frames if frame["line"]}
    assert {os.path.basename(file) for file in shown} == {"kern.pyx"}
    assert (shown == {os.path.join(elsewhere, "pyx/kern.pyx")}) == bool(has_text)
    text = analyzer.run(path, *options).stdout
    assert ("rows.done" in text or "ask(" in text) == bool(has_text)


def make_other_c(folder, change):
    """kern.c of another state of kern.pyx."""
    os.makedirs(folder)
    with open(os.path.join(cython_core.SOURCES, "kern.pyx")) as file:
        text = change(file.read())
    with open(os.path.join(folder, "kern.pyx"), "w") as file:
        file.write(text)
    subprocess.run(["/usr/bin/cython3", "kern.pyx"], cwd=folder, check=True, capture_output=True)
    os.remove(os.path.join(folder, "kern.pyx"))


@pytest.mark.parametrize("change", [
    lambda text: "# a comment\n" + text,  # The C has as many lines as before.
    lambda text: text.replace("def fit(", "# a comment\ndef fit(", 1),
    lambda text: text.replace("    return inner(Solver", "    # a comment\n    return inner(Solver", 1),
    lambda text: text + "\n\ndef added(x):\n    return x\n",
    lambda text: text.replace("cpdef int finish", "def first(x):\n    return x\n\n\ncpdef int finish", 1),
], ids=["comment", "comment near the end", "comment before the last statement", "last function", "function"])
def test_c_file_of_another_build(system, tmp_path, change):
    """Generated C of before or after the build gives no line, and is named."""
    path = cython_core.make_cython_core("moved")
    make_other_c(str(tmp_path / "other"), change)
    result = analyzer.json_of(path, "--source-dir", str(tmp_path / "other"))
    assert [one["code"] for one in result.json["warnings"]] == ["cython-source-mismatch"]
    assert str(tmp_path / "other" / "kern.c") in result.json["warnings"][0]["message"]
    lines = marked_lines()
    for frame in own_frames(result.json):
        if frame["kind"] == "cython":
            assert frame["line_source"] in ("machine-code", "estimate", None)
            if frame["line_source"] == "machine-code" and name_of(frame) in lines:
                assert frame["line"] == lines[name_of(frame)]
    # The debug XML of the build, which is at hand, too, is the next best.
    elsewhere = os.path.join(os.path.dirname(path), "elsewhere")
    result = analyzer.json_of(path, "--source-dir", str(tmp_path / "other"),
                              "--source-dir", os.path.join(elsewhere, "xml"))
    assert result.json["warnings"] == []
    frames = [frame for frame in own_frames(result.json) if frame["kind"] == "cython"]
    assert {frame["line_source"] for frame in frames} == {"xml"}


def test_source_directory_that_is_not_there(system):
    result = analyzer.json_of(cython_core.make_cython_core("moved"), "--source-dir", "/no/such/folder")
    assert [one["code"] for one in result.json["warnings"]] == ["source-dir-missing"]


def put(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def damaged_sources(tmp_path, plain):
    """{how: (what lies below --source-dir, whether lines of text are shown)}"""
    elsewhere = put(tmp_path, "outside/kern.pyx", plain)
    for how, content in (("crlf", plain.replace(b"\n", b"\r\n")), ("mac", plain.replace(b"\n", b"\r")),
                         ("marked", b"\xef\xbb\xbf" + plain), ("binary", os.urandom(5000) + b"\0" + plain),
                         ("short", b"\n".join(plain.split(b"\n")[:2])), ("empty", b""), ("zeros", b"\0" * 100000),
                         ("latin", b"# coding: latin-1 \xe9\n" + plain.split(b"\n", 1)[1])):
        put(tmp_path, how + "/kern.pyx", content)
        yield how, how not in ("binary", "short", "empty", "zeros")
    put(tmp_path, "copies/a/kern.pyx", plain)
    put(tmp_path, "copies/b/kern.pyx", plain)
    put(tmp_path, "others/a/kern.pyx", plain)
    put(tmp_path, "others/b/kern.pyx", plain.replace(b"a", b"b"))
    (tmp_path / "link" / "sub").mkdir(parents=True)
    (tmp_path / "link" / "sub" / "kern.pyx").symlink_to(elsewhere)
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "kern.pyx").symlink_to("kern.pyx")
    (tmp_path / "folder" / "kern.pyx").mkdir(parents=True)
    (tmp_path / "fifo").mkdir()
    os.mkfifo(tmp_path / "fifo" / "kern.pyx")
    yield from (("copies", True), ("others", False), ("link", True), ("loop", False), ("folder", False), ("fifo", False))


def test_sources_of_every_kind(system, tmp_path):
    """Whatever lies where the .pyx is looked for: its text or none, and the same frames."""
    path = cython_core.make_cython_core("moved")
    with open(os.path.join(cython_core.SOURCES, "kern.pyx"), "rb") as file:
        plain = file.read()
    expected = [name_of(frame) for frame in own_frames(analyzer.json_of(path).json)]
    for how, has_text in damaged_sources(tmp_path, plain):
        result = analyzer.run("--format", "json", "--source-dir", tmp_path / how, path)
        assert [name_of(frame) for frame in own_frames(result.json)] == expected, how
        text = analyzer.run("--source-dir", tmp_path / how, path).stdout
        assert ("rows.done" in text or "ask(" in text) == has_text, how
        assert "\r" not in text and "\0" not in text, how


def make_program(folder, stripped=True):
    """`cython --embed`: Python is in a library, the program is the compiled module."""
    def shell(*command):
        return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout.decode().split()

    source = os.path.join(folder, "made")
    os.mkdir(source)
    shutil.copy(os.path.join(cython_core.SOURCES, "program.pyx"), source)
    shell("/usr/bin/cython3", "-3", "--embed", "made/program.pyx")
    shell("cc", "-O2", "-w", *shell("/usr/bin/python3-config", "--includes"), "made/program.c", "-o",
          "program", *shell("/usr/bin/python3-config", "--embed", "--ldflags"))
    if stripped:
        shell("strip", "program")
        # Neither C nor .pyx tells the lines.
        os.rename(source, os.path.join(folder, "away"))
    return cores.run_to_core([os.path.join(folder, "program")], folder, {"PATH": "/usr/bin:/bin"})


def report_of_program(folder, *options, stripped=True):
    for tool in ("cython3", "python3-config"):
        if shutil.which(tool, path="/usr/bin") is None:
            pytest.skip("no /usr/bin/%s here" % tool)
    try:
        make_program(str(folder), stripped)
    except subprocess.CalledProcessError as error:
        pytest.skip("no program can be made: %s" % error.stderr.decode()[-200:])
    return analyzer.json_of(str(folder / "core"), *options).json


def test_a_program_of_its_own_with_symbols(system, tmp_path):
    """What `--embed` adds is nobody's function, main() neither."""
    document = report_of_program(tmp_path, "--all", stripped=False)
    frames = document["threads"][0]["frames"]
    assert "<module>" in [frame["function"] for frame in frames]
    added = [frame for frame in frames if frame["symbol"] in ("main", "__Pyx_main")]
    assert added and all(frame["kind"] == "native" and frame["hidden"] for frame in added)


def test_a_program_of_its_own(system, tmp_path):
    document = report_of_program(tmp_path)
    frames = [frame for frame in document["threads"][0]["frames"] if frame["kind"] == "cython"]
    with open(os.path.join(cython_core.SOURCES, "program.pyx")) as file:
        lines = {text.split("#@ ")[1].strip(): number
                 for number, text in enumerate(file, 1) if "  #@ " in text}
    assert [frame["function"] for frame in frames] == ["finish", "deep", "Worker.work", "run", "<module>"]
    assert {frame["function"]: frame["line"] for frame in frames} == lines
    assert all(frame["line_source"] == "machine-code" for frame in frames)
