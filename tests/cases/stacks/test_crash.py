"""The cause of death, the crashed thread, and the states of threads."""
import pytest

import analyzer
import cores
import truth

DEAD = [name for name, (_, _, ending) in cores.CASES.items() if ending == "signal"]


@pytest.mark.cases(DEAD)
def test_headline(core):
    document = analyzer.json_of(core.path).json
    crash, promises = document["crash"], core.truth["promises"]
    assert crash["signal"] == promises.get("signal", "SIGSEGV")
    if core.made_by["by"] == "kernel":
        for fact in ("code", "fault_address"):
            if fact in promises:
                assert crash[fact] == promises[fact]
    assert crash["summary"]
    dying = analyzer.thread_by_ident(document, core.truth["dying"])
    assert crash["thread"] == dying["tid"]
    assert "crashed" in dying["state"]
    assert [thread["tid"] for thread in document["threads"] if "crashed" in thread["state"]] == [dying["tid"]]
    assert document["threads"][0]["tid"] == dying["tid"], "the crashed thread comes first"


@pytest.mark.cases(cores.CASES, slow=True)
def test_target(core):
    document = analyzer.json_of(core.path).json
    target, interpreter = document["target"], core.interpreter
    assert target["kind"] == "core" and target["architecture"] == "x86_64"
    assert target["executable"] == interpreter.path
    main, *others = target["python"].pop("interpreters")
    assert main["id"] == 0 and all(one["id"] > 0 for one in others)
    assert target["python"] == {"implementation": "CPython", "version": interpreter.version,
                                "debug": interpreter.debug,
                                "free_threaded": interpreter.free_threaded}
    modules = {module["path"]: module for module in target["modules"]}
    assert modules[interpreter.path]["file"] == "found"
    assert modules[interpreter.path]["build_id"]


@pytest.mark.cases([case for case in cores.CASES if case != "no_unwind_info"], slow=True)
def test_everything_was_shown(core):
    """All files are here: nothing may be missing, and nothing is said on stderr."""
    if truth.is_chain_cut(core):
        return  # test_python_stacks checks that the lost part is found again
    result = analyzer.json_of(core.path)
    assert result.json["warnings"] == []
    assert [gap for thread in result.json["threads"] for gap in analyzer.gaps(thread)] == []
    assert (result.returncode, result.stderr) == (analyzer.EXIT_COMPLETE, "")


@pytest.mark.cases(["alive"])
def test_a_living_program_did_not_crash(core):
    """gcore writes a SIGSTOP-like siginfo: no death may be made of it."""
    document = analyzer.json_of(core.path).json
    crash = document["crash"]
    assert crash["cause"] == "snapshot" and crash["signal"] is None and crash["thread"] is None
    assert "a snapshot, taken from a running process" in analyzer.run(core.path).stdout
    assert not any("crashed" in thread["state"] for thread in document["threads"])


@pytest.mark.cases(["threads"])
def test_who_has_the_gil(core):
    if core.made_by["by"] != "kernel":
        pytest.skip("gdb ran the program on before the core was made")
    document, promises = analyzer.json_of(core.path).json, core.truth["promises"]
    holder = analyzer.thread_by_ident(document, promises["holds_gil"])
    assert [thread["tid"] for thread in document["threads"]
            if "holds-gil" in thread["state"]] == [holder["tid"]]
    waiting = {int(thread["python_thread_id"]) for thread in document["threads"]
               if "waits-for-gil" in thread["state"]}
    assert waiting == set(promises["waits_for_gil"])


@pytest.mark.cases(["threads"])
def test_who_is_idle(core):
    """Asleep or waiting for a lock; not the one that waits for the GIL, nor the one that died."""
    if core.made_by["by"] != "kernel":
        pytest.skip("gdb ran the program on before the core was made")
    document, promises = analyzer.json_of(core.path).json, core.truth["promises"]
    idle = {int(thread["python_thread_id"]) for thread in document["threads"]
            if "idle" in thread["state"]}
    named = {int(ident) for ident in core.truth["names"]}
    assert idle == named - {core.truth["dying"]} - set(promises["waits_for_gil"])
    assert [int(thread["python_thread_id"]) for thread in document["threads"]
            if "main" in thread["state"]] == [core.truth["main"]]


@pytest.mark.cases(["finalizer"])
def test_who_collects_garbage(core):
    document = analyzer.json_of(core.path).json
    collecting = [int(thread["python_thread_id"]) for thread in document["threads"]
                  if "collecting-garbage" in thread["state"]]
    assert collecting == [core.truth["promises"]["collecting"]]
