# Python 2.7 has no faulthandler: this speaks for it, from frame objects. Later ones have it built in.
"""Also gives 2.7 the names by which the programs here call what it has under others."""
from __future__ import absolute_import

import sys
import thread
import threading

import Queue

threading.get_ident = thread.get_ident
threading.main_thread = lambda: threading._shutdown.__self__
sys.modules["queue"] = Queue


def dump_traceback(out, all_threads):
    for ident, frame in sys._current_frames().items():
        own = ident == thread.get_ident()
        out.write("%s 0x%016x (most recent call first):\n" % ("Current thread" if own else "Thread", ident))
        frame = sys._getframe(1) if own else frame
        while frame is not None:
            out.write('  File "%s", line %d in %s\n' %
                      (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
