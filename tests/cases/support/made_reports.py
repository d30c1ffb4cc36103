"""Reports that no core was needed for: the program goes on (--resume) with NDJSON that holds them already."""
import hashlib
import json

import analyzer


def frame(function, file=None, line=None, kind="python", **more):
    made = dict.fromkeys(["file", "line", "line_source", "column", "end_line", "end_column", "module", "pc", "offset", "build_id",
                          "symbol", "sp", "trust", "interpreter"])
    made.update(kind=kind, function=function, name=function, file=file, line=line, inlined=False, hidden=False)
    made.update(more)
    return made


def thread(tid, frames, name="MainThread", state=("crashed", "main"), **more):
    made = {"tid": tid, "python_thread_id": None, "name": name, "interpreter": None, "state": list(state), "exception": None,
            "recursion": None, "waits_for": None, "frames": frames}
    made.update(more)
    return made


def report(path, threads, title="SIGSEGV in f", cause="null-pointer", test=None, kind="core", arguments=("python3",)):
    digest = hashlib.sha1(title.encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "schema": "pystack-core/1",
        "target": {"kind": kind, "path": path, "pid": 77, "executable": "/usr/bin/python3", "arguments": list(arguments),
                   "architecture": "x86_64",
                   "python": {"implementation": "CPython", "version": "3.11.2", "debug": False, "free_threaded": False,
                              "interpreters": [{"id": 0, "gil_holder": 77, "own_gil": True}]},
                   "modules": [{"path": "/usr/lib/libc.so.6", "build_id": "ab" * 20, "base": "0x7f0000000000", "file": "found",
                                "debug_info": False}]},
        "crash": {"signal": "SIGSEGV", "signal_number": 11, "code": "SEGV_MAPERR", "fault_address": "0x0", "sender_pid": None,
                  "thread": 77, "summary": "reading from 0x0 (a null pointer), not mapped", "message": None, "cause": cause,
                  "access": "read", "instruction": None, "operands": {}, "raised_again": False, "during": None},
        "threads": threads, "deadlocks": [],
        "running": {"uptime_s": None, "working_directory": None, "memory": {}, "packages": [], "environment": {},
                    "test": test and {"id": test, "phase": "call", "worker": None}},
        "signature": {"version": 1, "hash": digest, "exact": digest, "title": title, "parts": [title]}, "warnings": []}


def triage(folder, reports, *arguments, **more):
    """The Result of a run that finds all these reports made."""
    lines = folder / "made.ndjson"
    lines.write_text("".join(json.dumps(one) + "\n" for one in reports))
    paths = [folder / one["target"]["path"] for one in reports]
    for path in paths:
        path.write_bytes(b"")
    before = lines.read_bytes()
    result = analyzer.run("triage", "--output", "ndjson=%s" % lines.name, "--resume", *arguments, "--",
                          *[path.name for path in paths], cwd=folder, **more)
    assert lines.read_bytes() == before, "reports were made anew"
    return result
