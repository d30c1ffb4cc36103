"""The Python side of the library without a debugger, so that it also runs with the sanitizers."""
import json
import os
import subprocess
import sys

import analyzer
import cores
import debuggers


def test_host_and_core(interpreter):
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
