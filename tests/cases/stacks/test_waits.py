"""What each thread waits for, and who has it: as the program itself says, alive and as a core."""
import json
import os

import analyzer
import cores
import living
import pytest

PROGRAM = os.path.join(cores.PROGRAMS, "waits.py")


def brief(wait):
    return wait and {"kind": wait["kind"], "object": wait["object"], "owner": (wait["owner"] or {}).get("tid"),
                     "address": wait["address"], "certain": wait["owner_certain"]}


def assert_as_told(document, told):
    threads = {thread["tid"]: thread for thread in document["threads"]}
    analyzer.assert_fits_schema(document)
    for name, wanted in told["waits"].items():
        thread = threads[wanted["tid"]]
        found = brief(thread["waits_for"])
        if wanted["object"] is None:  # the text has a thread's number
            wanted = dict(wanted, object=found["object"], address=None)
            found["address"] = None
        else:
            wanted = dict(wanted, address=wanted["address"] and hex(wanted["address"]))
        wanted.pop("tid")
        assert found == wanted, name
        assert thread["waits_for"]["known_by"] and thread["waits_for"]["system_call"] == "futex"
        assert "waits-for-gil" not in thread["state"]


@pytest.mark.parametrize("mode", ["merged", "python"])
def test_living(interpreter, mode, tmp_path):
    told = tmp_path / "told"
    with living.running([interpreter.path, PROGRAM, str(told)]) as process:
        found = living.report(process.pid, "--format", "json", "--mode", mode)
        text = living.report(process.pid, "--mode", mode).stdout
    told = json.loads(told.read_text())
    assert_as_told(found.json, told)
    tid = told["waits"]["waits_lock"]
    assert '· waits for threading.Lock "jobs_lock" 0x%x, held by thread %d' % (tid["address"], tid["owner"]) in text
    assert '(likely)' in text


def test_core(interpreter, tmp_path):
    told = tmp_path / "told"
    cores.run_to_core([interpreter.path, PROGRAM, str(told), "die"], str(tmp_path))
    found = analyzer.json_of(str(tmp_path / "core"))
    assert_as_told(found.json, json.loads(told.read_text()))
    os.unlink(tmp_path / "core")
