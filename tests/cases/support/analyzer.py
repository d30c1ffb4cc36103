"""Runs pystack-core and reads what it says."""
import functools
import json
import os
import re
import resource
import subprocess

import cores

PROGRAM = os.environ.get("PSC_PROGRAM", os.path.join(cores.SOURCE, "build/analyzer/pystack-core"))
# What is slow and rarely breaks is done as well: ./run-tests --thorough.
THOROUGH = os.environ.get("PSC_TEST_THOROUGH") == "1"
SANITIZED = os.environ.get("PSC_SANITIZED", "") not in ("", "0", "OFF")
SCHEMAS = os.path.join(cores.SOURCE, "schema")
SCHEMA = os.path.join(SCHEMAS, "pystack-core-1.schema.json")

EXIT_COMPLETE, EXIT_PARTIAL, EXIT_NOTHING, EXIT_USAGE = 0, 1, 2, 64
SANITIZER_EXIT = 99
GIGABYTE = 1 << 30
WALL_SECONDS = 1200


class Result:
    def __init__(self, command, returncode, stdout, stderr):
        self.command = command
        self.returncode = returncode
        self.stdout_bytes = stdout
        self.stderr_bytes = stderr

    @property
    def stdout(self):
        return self.stdout_bytes.decode("utf-8")

    @property
    def stderr(self):
        return self.stderr_bytes.decode("utf-8")

    @functools.cached_property
    def json(self):
        return json.loads(self.stdout)

    def describe(self):
        return "%s\nexit %d\nstderr: %s" % (" ".join(self.command), self.returncode,
                                            self.stderr_bytes.decode(errors="replace")[-3000:])


def run(*arguments, timeout=60, memory=8 * GIGABYTE, env=None, cwd=None, stdin=None, through=(), codes=(), **more):
    """
    Runs the program; a crash, a sanitizer's report and a hang fail the test at once. The limit is one
    of processor time, for the machine may be busy. `through` is a command that starts it.
    """
    roots = [option for argument in arguments if str(argument) in cores.ROOTS
             for option in ("--sysroot", cores.ROOTS[str(argument)])]
    named = arguments[:1] if arguments[:1] == ("heap",) else ()
    command = [*through, PROGRAM, *named, *roots, *[str(argument) for argument in arguments[len(named):]]]
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent",
                   "ASAN_OPTIONS": "exitcode=%d:allocator_may_return_null=1" % SANITIZER_EXIT,
                   "UBSAN_OPTIONS": "exitcode=%d:print_stacktrace=1" % SANITIZER_EXIT,
                   **(env or {})}

    seconds = timeout * (4 if SANITIZED else 1)

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        if not SANITIZED:  # its shadow memory is terabytes of address space
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    try:
        done = subprocess.run(command, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=WALL_SECONDS,
                              env=environment, cwd=cwd, preexec_fn=limit, **more)
    except subprocess.TimeoutExpired:
        raise AssertionError("no end after %d s: %s" % (WALL_SECONDS, " ".join(command))) from None
    result = Result(command, done.returncode, done.stdout, done.stderr)
    fail_on = (*codes, *((3,) if arguments[:1] == ("triage",) else ()))
    assert done.returncode in (0, 1, 2, 64, *fail_on), result.describe()
    assert b"was ended by signal" not in done.stderr, result.describe()
    assert b"Sanitizer" not in done.stderr and b"runtime error:" not in done.stderr, result.describe()
    return result


@functools.lru_cache(maxsize=64)
def show(*arguments):
    """What it prints, when all is well."""
    result = run(*arguments)
    assert result.returncode == 0, result.describe()
    return result.stdout


def json_of(path, *options):
    """The Result of a run with --format json that showed something."""
    result = run("--format", "json", *options, path)
    assert result.returncode in (EXIT_COMPLETE, EXIT_PARTIAL), result.describe()
    return result


def close_schema(node):
    """Lets a schema take only what it describes: no further members, no other words than its examples."""
    if isinstance(node, dict):
        if "properties" in node:
            node["additionalProperties"] = False
        if "examples" in node:
            node["enum"] = node["examples"] + ([None] if "null" in node["type"] else [])
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        close_schema(one)


@functools.lru_cache(maxsize=None)
def schema_validator(strict=True, path=SCHEMA):
    """For readers the schema takes what a later version adds; strict, it shows what is not described."""
    import jsonschema
    with open(path) as file:
        schema = json.load(file)
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    if strict:
        close_schema(schema)
    return validator(schema)


def assert_fits_schema(document, what=""):
    path = os.path.join(SCHEMAS, document["schema"].replace("/", "-") + ".schema.json")
    errors = ["%s: %s" % ("/".join(map(str, error.absolute_path)), error.message[:300])
              for error in schema_validator(True, path).iter_errors(document)]
    assert not errors, "%s\n%s" % (what, "\n".join(errors[:10]))


# ---- reading a document ----

def thread_by_ident(document, ident):
    found = [thread for thread in document["threads"]
             if thread["python_thread_id"] is not None and int(thread["python_thread_id"]) == ident]
    assert len(found) == 1, "thread %#x is there %d times" % (ident, len(found))
    return found[0]


def thread_by_tid(document, tid):
    found = [thread for thread in document["threads"] if thread["tid"] == tid]
    assert len(found) == 1, "LWP %d is there %d times" % (tid, len(found))
    return found[0]


def python_frames(thread):
    return [frame for frame in thread["frames"] if frame["kind"] == "python" and not frame["hidden"]]


def gaps(thread):
    return [frame for frame in thread["frames"] if frame["kind"] == "gap"]


def physical_pcs(thread):
    """Each native frame once: what was inlined into it shares its pc."""
    return [int(frame["pc"], 16) for frame in thread["frames"]
            if frame["kind"] in ("native", "cython") and not frame["inlined"]]


EVALUATOR = re.compile(r"_PyEval_EvalFrameDefault(\.|$)")
EVALUATOR_2 = re.compile(r"PyEval_EvalFrameEx(\.|$)")


def is_evaluator(frame, python_2=False):
    return frame["kind"] == "native" and not frame["inlined"] and \
        (EVALUATOR_2 if python_2 else EVALUATOR).match(frame["symbol"] or "") is not None


# ---- what may stand in text ----

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def forbidden_characters(text):
    """Control characters, and those that turn text around: a name must not drive a terminal."""
    return sorted({hex(ord(found)) for found in FORBIDDEN.findall(text)})


def frames_by_name(document, ident):
    found: dict = {}
    for frame in python_frames(thread_by_ident(document, ident)):
        found.setdefault(frame["name"], frame)
    return found
