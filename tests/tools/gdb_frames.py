"""Run inside gdb: writes every thread's frames as gdb sees them, as JSON.

    gdb -nx -batch -iex "set auto-load no" -iex "set debuginfod enabled off" \
        -ex "py output='FRAMES.json'" -x gdb_frames.py EXECUTABLE CORE

{"LWP": {"frames": [{"pc": "0x...", "name": ..., "inlined": bool}], "stopped": why or null}}
"""
import json

import gdb

gdb.execute("set pagination off")
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set backtrace limit unlimited")

threads = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frames = []
    stopped = None
    try:
        frame = gdb.newest_frame()
    except gdb.error as error:
        frame, stopped = None, str(error)
    while frame is not None:
        kind = frame.type()
        if kind != gdb.TAILCALL_FRAME:
            frames.append({"pc": hex(frame.pc()), "name": frame.name(),
                           "inlined": kind == gdb.INLINE_FRAME})
        last = frame
        try:
            frame = frame.older()
        except gdb.error as error:
            frame, stopped = None, str(error)
    if frames and stopped is None:
        reason = last.unwind_stop_reason()
        if reason not in (gdb.FRAME_UNWIND_NO_REASON, gdb.FRAME_UNWIND_OUTERMOST):
            stopped = gdb.frame_stop_reason_string(reason)
    threads[str(thread.ptid[1])] = {"frames": frames, "stopped": stopped}
# Set on gdb's command line.
with open(globals()["output"], "w") as file:
    json.dump(threads, file)
