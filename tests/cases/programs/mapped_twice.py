# The interpreter's own files are mapped a second time, as libffi's trampolines and profilers do it.
import mmap
import os
import re
import sys

import witness

kept = []
files = {os.path.realpath(sys.executable)}
if os.path.exists("/proc/self/maps"):
    with open("/proc/self/maps") as lines:
        files.update(re.findall(r" (/.*/libpython[^/\n]*)$", lines.read(), re.M))
for path in sorted(files):
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        middle = size // 8192 * 4096
        for start, length, protection in ((0, 0, mmap.PROT_READ), (0, 4096, mmap.PROT_READ | mmap.PROT_EXEC),
                                          (middle, size - middle, mmap.PROT_READ | mmap.PROT_EXEC)):
            for writable in (0, mmap.PROT_WRITE):
                kept.append(mmap.mmap(file.fileno(), length, mmap.MAP_PRIVATE, protection | writable,
                                      offset=start))
    # What is written is in the core: another _PyRuntime, as the file has it.
    whole = kept[-6 + 1]
    for at in range(0, len(whole), 4096):
        whole[at] = whole[at]
assert kept


def last():
    witness.die()


list(map(lambda item: last(), [1]))
