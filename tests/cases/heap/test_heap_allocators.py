"""heap where others than pymalloc and glibc gave the memory: read, or said by name; nothing is guessed, nothing accused."""
import glob
import os
import shutil

import pytest

import analyzer
import cores
import interpreters

COUNT = 3000  # six objects a session
PRELOADED = {"jemalloc": "libjemalloc.so.*", "tcmalloc": "libtcmalloc_minimal.so.4"}


def python():
    return [one for one in interpreters.find_with_heap() if not one.debug][-1]


def look(folder, *options, **environment):
    cores.run_to_core([python().path, cores.PROGRAMS + "/heap_many.py", str(COUNT)], str(folder),
                      env={**os.environ, **environment})
    return analyzer.run("heap", "--format", "json", *options, folder / "core")


def preloaded(name):
    found = sorted(path for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
                   for path in glob.glob(os.path.join(folder, PRELOADED[name])))
    if not found:
        pytest.skip("%s is not installed" % name)
    return found[0]


@pytest.mark.parametrize("name", sorted(PRELOADED))
def test_preloaded(name, tmp_path):
    """Objects of up to 512 bytes are pymalloc's all the same."""
    result = look(tmp_path, "--verify", LD_PRELOAD=preloaded(name))
    assert result.returncode == 1, result.describe()
    assert "malloc() is %s's, whose memory is not read" % name in result.stderr
    assert result.json["findings"] == [], result.stdout[-2000:]
    listed = analyzer.run("heap", "--format", "json", "--type", "Session", tmp_path / "core")
    assert listed.json["listed_count"] == COUNT // 6, listed.stdout[-2000:]


@pytest.mark.parametrize("name", sorted(PRELOADED))
def test_preloaded_for_all(name, tmp_path):
    result = look(tmp_path, LD_PRELOAD=preloaded(name), PYTHONMALLOC="malloc")
    assert result.returncode == 2, result.describe()
    assert "malloc() is %s's, whose memory is not read" % name in result.stderr


def test_malloc(tmp_path):
    result = look(tmp_path, "--verify", PYTHONMALLOC="malloc")
    assert result.returncode == 0 and result.json["findings"] == [], result.describe()
    listed = analyzer.run("heap", "--format", "json", "--type", "Session", tmp_path / "core")
    assert listed.json["listed_count"] == COUNT // 6, listed.stdout[-2000:]


def test_mimalloc(tmp_path):
    if python().minor < (3, 13):
        pytest.skip("CPython has it from 3.13 on")
    result = look(tmp_path, PYTHONMALLOC="mimalloc")
    assert result.returncode == 2, result.describe()
    assert "they lie in mimalloc's pages (PYTHONMALLOC=mimalloc), which are not read" in result.stderr


def test_pypy(tmp_path):
    pypy = shutil.which("pypy3")
    if not pypy:
        pytest.skip("PyPy is not installed")
    cores.run_to_core([pypy, cores.PROGRAMS + "/heap_many.py", "60"], str(tmp_path))
    result = analyzer.run("heap", tmp_path / "core")
    assert result.returncode == 2 and "the objects of PyPy are not read" in result.stderr, result.describe()
