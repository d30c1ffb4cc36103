"""Run by any Python: asks for single values in the frames of a core file, through the library.

    frame_values_session.py PLUGIN_FOLDER CORE QUESTIONS [SYSROOT]     JSON on standard output

QUESTIONS is JSON: function name to a list of what is asked in its frame.
"""
import json
import sys

sys.path.insert(0, sys.argv[1])
import pystack_core_library as psc  # noqa: E402


def answer(target, frame, what):
    try:
        return list(target.value(frame, what))
    except psc.Failed as reason:
        return str(reason)


def main(core, questions, sysroot=None):
    answers: dict = {"values": {}, "names": {}, "attributes": {}}
    with psc.open_core(core, settings=psc.FileSettings(sysroot=sysroot)) as target, target.capture() as trace:
        records = trace.document(show_all=True)["threads"][0]["frames"]
        places = [trace.python_frame(0, at) for at in range(len(records))]
        assert [bool(place) for place in places] == [record["kind"] == "python" for record in records]
        assert trace.python_frame(0, len(records)) == trace.python_frame(1, 0) == 0
        for place, record in zip(places, records):
            name = record["name"]
            if not place or name not in questions:
                continue
            answers["values"][name] = {what: answer(target, place, what) for what in questions[name]}
            answers["names"][name] = target.names(place)
            for what in questions[name]:
                try:
                    answers["attributes"][what] = target.names(place, what)
                except psc.Failed:
                    pass
        answers["nowhere"] = answer(target, 0x1000, "x")
        answers["no frame"] = answer(target, places[[bool(one) for one in places].index(True)] + 8, "x")
    json.dump(answers, sys.stdout)


main(sys.argv[2], json.loads(sys.argv[3]), *sys.argv[4:])
