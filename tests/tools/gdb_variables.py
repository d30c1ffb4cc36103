"""Run inside gdb: writes the arguments and variables of the first thread's frames, as JSON.

    gdb -nx -batch -iex "set auto-load no" -iex "set debuginfod enabled off" \
        -ex "py output='VARIABLES.json'" -x gdb_variables.py EXECUTABLE CORE

[{"pc": "0x...", "name": ..., "variables": {name: text, or null where it is optimised out}}]
"""
import json

import gdb

gdb.execute("set pagination off")
gdb.execute("set backtrace past-main on")
gdb.execute("set print symbol off")
gdb.execute("set print elements 100000")
gdb.execute("set print repeats unlimited")
gdb.execute("set print characters unlimited") if gdb.VERSION.split(".")[0] >= "14" else None


def variables_of(frame):
    found: dict = {}
    try:
        block = frame.block()
    except RuntimeError:
        return found
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if (symbol.is_argument or symbol.is_variable) and symbol.name not in found:
                try:
                    value = symbol.value(frame) if symbol.needs_frame else symbol.value()
                    found[symbol.name] = None if value.is_optimized_out else value.format_string()
                except gdb.error as error:
                    found[symbol.name] = "error: %s" % error
        if block.function is not None:
            break
        block = block.superblock
    return found


frames = []
frame = gdb.newest_frame()
while frame is not None:
    if frame.type() != gdb.TAILCALL_FRAME:
        frame.select()
        frames.append({"pc": hex(frame.pc()), "name": frame.name(), "variables": variables_of(frame)})
    frame = frame.older()
# Set on gdb's command line.
with open(globals()["output"], "w") as file:
    json.dump(frames, file)
