"""The Python side of the library without a debugger, so that it also runs with the sanitizers."""
import json
import os
import subprocess
import sys

import analyzer
import cores
import debuggers

SLOW = True  # A third of the interpreters, unless thoroughly.
HEADER = os.path.join(cores.SOURCE, "analyzer", "include")


def test_held_process_and_core(interpreter):
    core = cores.make_core("threads", interpreter)
    with debuggers.living(interpreter) as (pid, _):
        done = subprocess.run([sys.executable, "-B", os.path.join(cores.SUPPORT, "library_session.py"), debuggers.PLUGIN,
                               core.path, interpreter.path, str(pid)], capture_output=True, timeout=600,
                              env=debuggers.environment(**debuggers.sanitizer()))
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()[-3000:]
    answers = json.loads(done.stdout.decode())
    assert answers["core"] == analyzer.run("--color", "never", core.path, interpreter.path).stdout

    document = answers["callback"]
    analyzer.assert_fits_schema(document)
    assert document == answers["path"] and answers["callback text"] == answers["path text"]
    assert document["target"]["pid"] == pid and document["target"]["kind"] == "process"
    assert document["crash"] is None and document["target"]["python"]["version"] == interpreter.version
    # Nobody told the thread pointers: they were found.
    names = {thread["name"] for thread in document["threads"]}
    assert names == {"MainThread", "sleeper"}
    functions = {thread["name"]: [frame["function"] for frame in analyzer.python_frames(thread)]
                 for thread in document["threads"]}
    assert functions["MainThread"] == ["<module>"] and functions["sleeper"][0] == "sleeps"
    assert 0 < answers["callback reads"] < 400 and answers["path reads"] == 0

    assert answers["interrupted"] <= 25
    assert answers["asked"] == 6 and answers["signal"] == 20
    assert answers["no core"].startswith("/nonexistent: ") and "not a core file" in answers["not a core"]


def test_interface_is_made_from_the_header():
    """pystack_core_header.py is what tools/generate_header.py makes of the public header."""
    made = subprocess.run([sys.executable, "-B", os.path.join(debuggers.PLUGIN, "tools", "generate_header.py"), "--print"],
                          capture_output=True, check=True)
    with open(os.path.join(debuggers.PLUGIN, "pystack_core_header.py"), "rb") as file:
        assert file.read() == made.stdout, "run gdb-plugin/tools/generate_header.py"


def test_structures_have_the_compilers_layout(tmp_path):
    """Sizes, offsets and numbers of pystack_core_header.py are those of the compiled header."""
    ask = ("import ctypes, sys\nsys.path.insert(0, %r)\nimport pystack_core_header as header\n"
           "for name, one in sorted(vars(header).items()):\n"
           "    if name.startswith('PSC_'): print(name, int(one))\n"
           "    if isinstance(one, type) and issubclass(one, ctypes.Structure):\n"
           "        c = 'struct psc' + ''.join('_' + l.lower() if l.isupper() else l for l in name)\n"
           "        print('sizeof(%%s)' %% c, ctypes.sizeof(one))\n"
           "        for field in one._fields_:\n"
           "            print('offsetof(%%s,%%s)' %% (c, field[0]), getattr(one, field[0]).offset)\n" % debuggers.PLUGIN)
    done = subprocess.run([sys.executable, "-B", "-c", ask], capture_output=True, check=True)
    pairs = [line.rsplit(" ", 1) for line in done.stdout.decode().splitlines()]
    assert len(pairs) > 150
    checks = "".join("_Static_assert((long)(%s) == %s, \"%s\");\n" % (what, number, what) for what, number in pairs)
    (tmp_path / "layout.c").write_text("#include <pystack_core.h>\n" + checks)
    done = subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-I", HEADER, tmp_path / "layout.c"],
                          capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
