"""Runs of pystack-core ci, and what they told."""
import json
import os
import resource
import subprocess

import pytest

import analyzer

PYTHON = "/usr/bin/python3"


def core_pattern():
    with open("/proc/sys/kernel/core_pattern") as file:
        return file.read().strip()


def leaves_cores():
    return core_pattern() == "core" and resource.getrlimit(resource.RLIMIT_CORE)[1] != 0


needs_cores = pytest.mark.skipif(not leaves_cores(), reason="the kernel's pattern leads elsewhere, or cores are not allowed")


class Run:
    def __init__(self, folder, done):
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        assert "Sanitizer" not in self.err and "runtime error:" not in self.err, self.err
        path = folder / "reports.ndjson"
        self.reports = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        for report in self.reports:
            analyzer.assert_fits_schema(report)

    def titles(self):
        return sorted(report["signature"]["title"] for report in self.reports)


def start(folder, *command, options=(), env=None, **more):
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "TMPDIR": str(folder),
                   "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    return subprocess.Popen(
        [analyzer.PROGRAM, "ci", "--output", "ndjson=reports.ndjson", *options, "--", *[str(word) for word in command]],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, **more)


def finish(folder, process):
    out, err = process.communicate(timeout=1200)
    return Run(folder, subprocess.CompletedProcess(process.args, process.returncode, out, err))


def ci(folder, *command, **more):
    return finish(folder, start(folder, *command, **more))


def python(folder, text, **more):
    (folder / "program.py").write_text(text)
    return ci(folder, PYTHON, "program.py", **more)


def core_files(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("core"))


def has_pytest(*modules):
    return subprocess.run([PYTHON, "-c", "import pytest" + "".join(", " + name for name in modules)],
                          capture_output=True).returncode == 0
