"""Lines and columns of sources in every encoding, and of code objects whose line tables are odd."""
import linecache
import os

import pytest

import analyzer
import truth

HERE = {"when": lambda case, interpreter: not interpreter.root}


def dying_frames(core):
    document = analyzer.json_of(core.path).json
    said = core.truth["stacks"][str(core.truth["dying"])]
    return list(zip(analyzer.python_frames(analyzer.thread_by_ident(document, core.truth["dying"])), said))


@pytest.mark.cases(["positions"], **HERE)
def test_lines(core):
    pairs = dying_frames(core)
    assert [truth.key_of_json(frame) for frame, _ in pairs] == [truth.key_of(said) for _, said in pairs]
    lines = {said["line"] for _, said in pairs if said["file"] == "template.html"}
    assert {7, 500000} <= lines and any(line and line > 2000000000 for line in lines)
    assert core.interpreter.minor < (3, 10) or None in lines
    assert len([said for _, said in pairs if said["file"] != "template.html"]) > 30


@pytest.mark.cases(["positions"], when=lambda case, interpreter: interpreter.minor >= (3, 11) and
                   not interpreter.root)
def test_columns_are_characters(core):
    """linecache decodes a file as the compiler did; the interpreter's columns are bytes of UTF-8."""
    compared = set()
    for frame, said in dying_frames(core)[1:]:
        if not said["file"].startswith("/") or said["position"] is None or None in said["position"]:
            continue
        line, end_line, column, end_column = said["position"]
        text = linecache.getline(said["file"], line).encode()
        end_text = linecache.getline(said["file"], end_line).encode()
        assert (frame["line"], frame["end_line"]) == (line, end_line)
        assert frame["column"] == len(text[:column].decode()) + 1, said
        assert frame["end_column"] == len(end_text[:end_column].decode()) + 1, said
        compared.add(os.path.basename(said["file"]))
    assert len(compared) >= 13


@pytest.mark.cases(["positions"], **HERE)
def test_source_lines_are_shown_as_they_were_written(core):
    text = analyzer.run(core.path).stdout
    for line in ("x = u'€…œ'; return after() + 1", "x = u'日本語'; return after() + 1",
                 "é = u'ßß'; return é and after()", "return x and after()\n"):
        assert line in text
    assert analyzer.forbidden_characters(text) == []
