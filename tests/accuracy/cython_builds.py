"""What the comparisons build, kept from run to run: C from a .pyx, a library from C."""
import hashlib
import os
import re
import shutil
import subprocess
import threading
from collections import defaultdict
from pathlib import Path

# Of folders that are being made.
LOCKS: defaultdict = defaultdict(threading.Lock)
SOURCES = Path(__file__).resolve().parents[2] / "testdata" / "cython"


def run(*command, **options):
    return subprocess.run(list(map(str, command)), check=True, text=True, capture_output=True,
                          errors="surrogateescape", **options).stdout


def keep(folder, key, make):
    """The folder with what make(folder) put there, made again when the key is another one."""
    stamp = folder / "stamp"
    key = hashlib.sha256(repr(key).encode(errors="surrogateescape")).hexdigest()
    with LOCKS[folder]:
        if not stamp.exists() or stamp.read_text() != key:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            make(folder)
            stamp.write_text(key)
    return folder


class Forms:
    """testdata/cython/forms: every form in which Cython code calls and is called.

    Nearly every function there is registered by a decorator, as in no module of this world: what
    is built to be looked at, not to be run, goes without.
    """
    name = "forms"
    module = "forms"
    c_file = Path("forms.c")

    def __init__(self, registered):
        text = (SOURCES / "forms" / "forms.pyx").read_text(encoding="utf-8")
        self.text = text if registered else re.sub(r"(?m)^@form$", "", text)

    def key(self, _):
        return self.text

    def fetch(self, _, folder):
        (folder / "forms.pyx").write_text(self.text, encoding="utf-8")
        return "forms.pyx"


class CythonsOwn:
    """A module that Cython itself is made of, as that Cython has it."""

    def __init__(self, name):
        self.name = name
        self.module = f"Cython.Compiler.{name}"
        self.c_file = Path("Cython", "Compiler", name + ".c")

    @staticmethod
    def package(command):
        environment = dict(os.environ)
        if command[-1].endswith("cython.py"):
            environment["PYTHONPATH"] = str(Path(command[-1]).parent)
        python = command[0] if len(command) > 1 else "/usr/bin/python3"
        code = "import Cython, os; print(os.path.dirname(Cython.__file__))"
        return Path(run(python, "-c", code, env=environment).strip())

    def key(self, command):
        return (self.package(command) / "Compiler" / (self.name + ".py")).read_text(encoding="utf-8")

    def fetch(self, command, folder):
        shutil.copytree(self.package(command), folder / "Cython",
                        ignore=shutil.ignore_patterns("*.so", "*.c", "Tests", "__pycache__"))
        return self.c_file.with_suffix(".py")


def keep_c(folder, command, source, flags):
    """The folder with source.c_file in it."""
    def make(place):
        run(*command, "-3", *flags, source.fetch(command, place), cwd=place)
    version = subprocess.run([*command, "--version"], text=True, capture_output=True, check=True)
    return keep(folder, (version.stdout, version.stderr, flags, source.key(command)), make)


def compiler_key(compiler):
    return compiler, run(compiler[0], "--version")


def compile_c(compiler, include, c_file, library):
    run(*compiler, "-w", "-shared", "-fPIC", f"-I{include}", "-o", library, c_file.name, cwd=c_file.parent)
