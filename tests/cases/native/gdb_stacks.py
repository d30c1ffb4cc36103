"""Inside gdb: one line a thread, `PCS TID COUNT PC...`, of physical frames."""
import gdb

for setting in ("pagination off", "backtrace past-main on", "backtrace past-entry on",
                "debuginfod enabled off"):
    try:
        gdb.execute("set " + setting)
    except gdb.error:
        pass
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame = gdb.newest_frame()
    pcs = []
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append("%x" % frame.pc())
        frame = frame.older()
    print("PCS", thread.ptid[1], len(pcs), *pcs)
