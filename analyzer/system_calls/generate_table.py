#!/usr/bin/env python3
"""Prints a machine's table of Linux system calls: generate_table.py UNISTD SYSCALLS >x86_64.def

UNISTD is the machine's <asm/unistd_64.h> (Debian's linux-libc-dev), SYSCALLS the kernel's
include/linux/syscalls.h (Debian's linux-headers-VERSION-common). The result is kept in the repository, for
numbers are never given anew; whoever wants newer calls runs this with newer headers.
"""
import re
import sys

# What the prototypes do not say: the machine's own calls (arch/x86/kernel), others' names, lost names.
OWN = {
    "mmap": "pUxxiX", "mprotect": "pUx", "arch_prctl": "xp", "iopl": "u", "ioperm": "UUi", "modify_ldt": "ipU",
    "rt_sigreturn": "", "vfork": "", "fork": "", "clone": "Xpppp", "clone3": "pU", "uretprobe": "", "uprobe": "",
    "set_thread_area": "p", "get_thread_area": "p", "map_shadow_stack": "pUx", "capget": "pp", "capset": "pp",
    "symlink": "ss", "sethostname": "pi", "setdomainname": "pi", "ioctl": "ixX", "prctl": "iXXXX", "ptrace": "IipX",
    "rseq": "puxu", "access": "so", "faccessat": "aso", "faccessat2": "asox", "socket": "iii", "fcntl": "iuX",
}
NAMES = {"stat": "newstat", "lstat": "newlstat", "fstat": "newfstat", "uname": "newuname", "umount2": "umount",
         "sendfile": "sendfile64"}
HEAD = """/*
 * Linux system calls of %s: number, name, a letter for each argument (see system_calls.c), NULL: not known.
 * Made by generate_table.py, do not edit.
 */
"""


def letter_of(parameter):
    """How an argument is shown, by its type and name."""
    words = re.sub(r"__user|const|struct|\[.*?\]", " ", parameter).replace("*", " * ").split()
    name = words[-1] if len(words) > 1 and words[-1] != "*" else ""
    kind = words[:-1] if name and name not in ("int", "long", "char") else words
    if "*" in words or words[0] == "__sighandler_t":
        is_text = kind == ["char", "*"] and re.search(r"path|name|special|library|put_old|_type|^type$", name)
        return "s" if is_text else "p"
    if words[0] == "umode_t":
        return "o"
    if re.search(r"flags?$|mask$", name):
        return "X" if re.search(r"long|u64", parameter) else "x"
    if re.fullmatch(r"(old|new|from_|to_|at_)?(dfd|dirfd)", name):
        return "a"
    if re.search(r"fd(_in|_out|in|out|[0-9])?$|^fildes$", name):
        return "i"
    text = " ".join(kind)
    if re.search(r"addr|start$|brk$", name) and "long" in text:
        return "p"
    if re.search(r"(^|_)t$|long|u64|size", text) and not re.search(r"pid_t|key_t|uid_t|gid_t|clockid_t|timer_t|mqd_t|"
                                                                  r"key_serial_t|qid_t|umode_t|rwf_t", text):
        return "U" if re.search(r"unsigned|size_t|u64|aio", text) else "I"
    return "u" if re.search(r"unsigned|u32|uid|gid", text) else "i"


def prototypes(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    found = {}
    for name, parameters in re.findall(r"asmlinkage long sys_(\w+)\((.*?)\);", text, re.S):
        parts = [part.strip() for part in parameters.split(",")]
        found[name] = "" if parts == ["void"] else "".join(map(letter_of, parts))
    return found


def main(unistd, syscalls):
    with open(unistd, encoding="utf-8") as file:
        calls = re.findall(r"#define __NR_(\w+) (\d+)", file.read())
    with open(syscalls, encoding="utf-8") as file:
        known = prototypes(file.read())
    print(HEAD % "x86-64", end="")
    for name, number in sorted(calls, key=lambda call: int(call[1])):
        letters = OWN.get(name, known.get(NAMES.get(name, name)))
        if letters is None:
            letters = known.get("new" + name, known.get(name + "64"))
        print('SYSTEM_CALL(%s, "%s", %s)' % (number, name, "NULL" if letters is None else '"%s"' % letters))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
