"""Targets and traces by the program pystack-core, where a debugger's Python cannot load the library.

They have what the commands need of those in pystack_core_library.py. Single values are not among it.
"""
import json
import os

import pystack_core_loader as loader
from pystack_core_library import Failed


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def _temporary(name):
    """A new file; the module tempfile needs parts that a Python which lacks ctypes may lack too."""
    folder = os.environ.get("TMPDIR") or "/tmp"
    for number in range(1000):
        path = "%s/pystack-core-%d-%d-%s" % (folder, os.getpid(), number, name)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return path
        except FileExistsError:
            continue
    raise Failed("no temporary file can be made in %s" % folder)


def _read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def run(shell, words):
    """What the program prints. shell(line) lets a shell run a line."""
    said, wrong = _temporary("out"), _temporary("err")
    try:
        shell(" ".join(quote(word) for word in words) + " >%s 2>%s" % (quote(said), quote(wrong)))
        text, errors = _read(said), _read(wrong)
    finally:
        os.unlink(said)
        os.unlink(wrong)
    if not text:
        raise Failed(errors.strip().split("\n")[-1] or "%s said nothing" % words[0])
    return text


class Trace:
    def __init__(self, ask, tids, options):
        self.ask, self.tids, self.options = ask, tids, options
        self.known = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def _json(self, show_all):
        if show_all not in self.known:
            document = json.loads(self.ask(self.options + ["--format", "json"] + (["--all"] if show_all else [])))
            if self.tids is not None:
                document["threads"] = [one for one in document["threads"] if one["tid"] in self.tids]
            self.known[show_all] = document
        return self.known[show_all]

    def document(self, show_all=False):
        return self._json(show_all)

    def json_text(self, show_all=False):
        return json.dumps(self._json(show_all), indent=2, ensure_ascii=False) + "\n"

    def text(self, show_all=False, color=False, no_group=False, no_fold=False, max_frames=0):
        options = ["--color", "always" if color else "never"]
        options += (["--all"] if show_all else []) + (["--no-fold"] if no_fold else [])
        options += ["--max-frames", str(max_frames)] if max_frames else []
        if no_group or self.tids is not None:
            options.append("--no-group")
        text = self.ask(self.options + options)
        if self.tids is None:
            return text
        # Of a process that a debugger holds, the program shows all threads or none.
        every = json.loads(self.ask(self.options + ["--format", "json"]))["threads"]
        header, *parts = text.rstrip("\n").split("\n\n")
        if len(parts) != len(every):
            return text
        return "\n\n".join([header] + [part for part, one in zip(parts, every) if one["tid"] in self.tids]) + "\n"

    def warnings(self):
        return [one["message"] for one in self._json(False)["warnings"]]

    def python_frame(self, thread, frame):
        return 0


class Heap:
    def __init__(self, ask):
        self.ask = ask

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def text(self, as_json=False, limit=0, **wanted):
        words = ["heap"] + (["--format", "json"] if as_json else []) + (["--limit", str(limit)] if limit else [])
        for name in ("type", "where"):
            words += ["--" + name, wanted[name]] if wanted.get(name) else []
        words += ["--largest"] if wanted.get("largest") else []
        words += ["--object", hex(wanted["object"])] if wanted.get("object") else []
        words += ["--who-holds", wanted["held"]] if wanted.get("held") else []
        words += ["--verify"] if wanted.get("findings") else []
        return self.ask(words)

    def warnings(self):
        return []


class Target:
    def __init__(self, ask, takes_thread):
        self.ask, self.takes_thread = ask, takes_thread

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def heap(self):
        return Heap(self.ask)

    def capture(self, threads=None, show_all=False, no_source=False, all_modules=False, with_locals=False,
                limits=None, with_tasks=False):
        options = ["--no-source"] if no_source else []
        if with_tasks:
            options.append("--tasks")
        if with_locals:
            options.append("--locals=python" if with_locals == "python" else "--locals")
        for name, number in (limits or {}).items():
            options += ["--value-" + name, str(number)]
        if self.takes_thread and threads is not None and len(threads) == 1:
            options += ["--thread", str(threads[0])]
            threads = None
        return Trace(self.ask, threads, options)


def open_target(debugger):
    """The debugger's core file, or the process that it holds, by the program; (target, program's path)."""
    kind, program = debugger.kind(), loader.find_program()
    if kind not in ("core", "native"):
        raise Failed("the program pystack-core cannot see this target; of a core file of it, it can")
    if not program:
        raise Failed("the program pystack-core is not found either")
    if kind == "core":
        words = ["--", debugger.core_path()] + ([debugger.executable()] if debugger.executable() else [])
    else:
        words = ["--pid", str(debugger.process_id())]
    return Target(lambda options: run(debugger.shell, [program] + options + words), kind == "core"), program
