# Names that would drive a terminal, break a line, turn the text around, or cannot be UTF-8.
import threading

import witness

FILES = ["\x1b]0;title\x07\x1b[31mred.py", "two\nlines\r.py", "turned\u202e\u2066yp.", "c1\x9b31m\x85.py",
         "surrogate\udcff\ud800.py", "nul\x00tail.py", "tab\tbell\x07\x7f.py", "quote\"back\\slash.py",
         "x" * 5000 + ".py"]


def step(index):
    if index == len(FILES):
        witness.die(deep=True)
    scope = {"step": step}
    exec("def inside(index):\n    return step(index + 1)\n", scope)
    inside = scope["inside"]
    # compile() takes no NUL; a code object made from another one takes any name.
    inside.__code__ = inside.__code__.replace(co_filename=FILES[index],
                                              co_name="name" + FILES[index])
    return inside(index)


thread = threading.Thread(target=step, args=(0,), name="\x1b[2Jwiped\nline")
thread.start()
thread.join()
