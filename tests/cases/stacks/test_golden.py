"""The whole output for some cores, with what changes from run to run taken out.

tests/cases/support/regenerate writes the files anew; read the difference before it is committed.
"""
import json
import os
import re

import pytest

import analyzer
import cores
import interpreters

GOLDEN = os.path.join(cores.FOLDER_OF_CASES, "golden")
KINDS = {"txt": ["threads", "worker_crash", "callbacks", "generators", "asyncio_task", "class_body", "names",
                 "exception_handled", "null_call", "finalizer", "control_names"],
         "json": ["worker_crash", "callbacks", "names"],
         "summary": ["threads", "worker_crash", "exception_handled"]}
NAMES = ["debian", "3.13"]
MADE_BY = os.path.join(GOLDEN, "made_by.json")
REGENERATE = os.environ.get("PSC_REGENERATE", "") == "1"


def identity_of(core):
    """Build-ids of the interpreter's own files: another build inlines other functions."""
    return {os.path.basename(module["path"]): module["build_id"]
            for module in analyzer.json_of(core.path).json["target"]["modules"]
            if re.match(r"(lib)?python3", os.path.basename(module["path"]))}


def core_for(case, name):
    """The core, if the interpreter that is here is one of those for which the stored files hold."""
    found = interpreters.find_system() if name == "debian" else interpreters.find_version(3, 13)
    if found is None:
        pytest.skip("no CPython %s here" % name)
    core = cores.make_core(case, found)
    stored = {}
    if os.path.exists(MADE_BY):
        with open(MADE_BY) as file:
            stored = json.load(file)
    if REGENERATE:
        stored[name] = [identity_of(core)]
        os.makedirs(GOLDEN, exist_ok=True)
        with open(MADE_BY, "w") as file:
            json.dump(stored, file, indent=1, sort_keys=True)
            file.write("\n")
    elif identity_of(core) not in stored.get(name, []):
        pytest.skip("the stored files of %s are of another build of it than is here" % name)
    return core


def normalized(text, core):
    """Without process ids, addresses, folders, and the names that the machine's libc gives."""
    places = [(core.folder, "FOLDER"), (cores.native_helpers(), "HELPERS"),
              (cores.PROGRAMS, "PROGRAMS"), (cores.SOURCE, "SOURCE"), (core.interpreter.path, "PYTHON"),
              (os.path.dirname(os.path.dirname(core.interpreter.path)), "PREFIX")]
    for place, name in places:
        text = text.replace(place, name)
    # strlen() has another instruction on each processor.
    text = re.sub(r"(null pointer\), not mapped): [^\n\";]*", r"\1", text)
    text = re.sub(r"/[^\s\"]*/(Python-3[0-9.]+)/", r"BUILD/\1/", text)
    return re.sub(r"0x[0-9a-f]{3,}", "0x…", text)


# libc's names depend on whether its debug file is here, and on the processor (memmove's variant).
NO_DEBUG_FILES = ("--debug-dir", "/nonexistent")
LIBC = re.compile(r"^( +#\d+ +C +)\S+ +(libc\.so\.6|ld-linux\S*)\+0x.*$", re.M)


def normalized_text(core):
    text = normalized(analyzer.run(*NO_DEBUG_FILES, core.path).stdout, core)
    text = LIBC.sub(r"\1(libc)", text)
    numbers: dict = {}
    for thread in analyzer.json_of(core.path).json["threads"]:
        numbers[str(thread["tid"])] = "TID%d" % (len(numbers) + 1)
    # Where it stands for a thread: a line may have the same number.
    return re.sub(r"([Tt]hread |held by )(%s)\b" % "|".join(numbers),
                  lambda found: found.group(1) + numbers[found.group(2)], text)


def normalized_summary(core):
    text = normalized(analyzer.run(*NO_DEBUG_FILES, "--summary", core.path).stdout, core)
    text = re.sub(r"(C {7}).*(libc\.so\.6|ld-linux).*", r"\1(libc)", text)
    numbers = {str(thread["tid"]): "TID%d" % number
               for number, thread in enumerate(analyzer.json_of(core.path).json["threads"], 1)}
    return re.sub(r"(threads? |held by |, )(%s)\b" % "|".join(numbers),
                  lambda found: found.group(1) + numbers[found.group(2)], text)


def normalized_json(core):
    document = json.loads(normalized(analyzer.json_of(core.path, *NO_DEBUG_FILES).stdout, core))
    document["target"]["modules"] = sorted(os.path.basename(module["path"]).split(".")[0]
                                           for module in document["target"]["modules"])
    document["target"]["pid"] = None
    if document["crash"]:
        document["crash"]["sender_pid"] = None
        document["crash"]["thread"] = None
        document["crash"].update(instruction=None, operands=None)
    document["signature"].update(hash="…", exact="…")
    document["running"]["memory"] = sorted(document["running"]["memory"])
    # By its place among the threads: the first one is the one that died.
    tids = {thread["tid"]: "thread %d" % number for number, thread in enumerate(document["threads"])}
    for interpreter in document["target"]["python"]["interpreters"]:
        interpreter["gil_holder"] = tids.get(interpreter["gil_holder"])
    for thread in document["threads"]:
        thread["tid"] = thread["python_thread_id"] = None
        wait = thread["waits_for"]
        if wait and wait["owner"]:
            wait["owner"]["tid"] = tids.get(wait["owner"]["tid"])
            wait["object"] = re.sub(r"thread \d+", wait["owner"]["tid"] or "", wait["object"])
        for frame in thread["frames"]:
            for key in ("pc", "sp", "offset", "build_id"):
                frame[key] = None if frame[key] is None else "…"
            if os.path.basename(frame["module"] or "").startswith(("libc.so", "libpthread", "ld-linux")):
                frame.update(function="(libc)", symbol="(libc)", file=None, line=None, line_source=None)
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind,case", [(kind, case) for kind, cases in KINDS.items() for case in cases])
def test_output_is_the_stored_one(case, name, kind):
    core = core_for(case, name)
    found = {"txt": normalized_text, "json": normalized_json, "summary": normalized_summary}[kind](core)
    path = os.path.join(GOLDEN, "%s.%s.%s" % (case, name, kind))
    if REGENERATE:
        os.makedirs(GOLDEN, exist_ok=True)
        with open(path, "w") as file:
            file.write(found)
        return
    with open(path) as file:
        assert found == file.read()
