#!/usr/bin/env python3
"""Writes ../pystack_core_header.py: the public C header as ctypes has it. A test compares the two.

    generate_header.py            writes it
    generate_header.py --print    prints it

The result is kept in the repository, so that the commands work from a checkout and are installed
without running Python; whoever changes the header runs this.
"""
import os
import re
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = os.path.join(HERE, "..", "..", "analyzer", "include", "pystack_core.h")
RESULT = os.path.join(HERE, "..", "pystack_core_header.py")

HEAD = '''"""The C interface of the library: made from pystack_core.h by tools/generate_header.py, do not edit.

Importing it never fails: a debugger's Python may come without a working ctypes; then ctypes is None
and NO_CTYPES says why.
"""
try:
    import ctypes
    NO_CTYPES = None
except Exception as reason:  # PYTHONPATH or LD_LIBRARY_PATH of another Python: any error may come
    ctypes = None  # type: ignore[assignment]
    NO_CTYPES = "%s: %s" % (type(reason).__name__, reason)

'''
PLAIN = {"double": "c_double", "void": None, "char": "c_char", "int": "c_int", "size_t": "c_size_t", "psc_addr": "c_uint64"}
PLAIN.update({"%sint%d_t" % (sign, bits): "c_%sint%d" % (sign, bits) for sign in ("", "u") for bits in (8, 16, 32, 64)})


def class_name(name):
    """OpenOptions of psc_open_options."""
    return "".join(part.capitalize() for part in name.split("_")[1:])


class Header:
    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        self.version = re.search(r'#define PSC_VERSION\s+"([^"]+)"', text).group(1)
        text = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*\n", "", text, flags=re.M)
        text = re.sub(r"\b(?:PSC_API|PSC_MUST_CHECK)\b", " ", text)
        self.enums = [(name, re.findall(r"(\w+) = ([^,}]+)", body))
                      for name, body in re.findall(r"\benum (\w+) \{(.*?)\}", text, re.S)]
        self.structs = re.findall(r"\bstruct (\w+) \{(.*?)\n\};", text, re.S)
        self.callbacks = re.findall(r"\btypedef ([\w *]+?)\(\*(\w+)\)\(([^)]*)\);", text)
        text = re.sub(r"\b(?:enum|struct) \w+ \{.*?\n?\};|typedef [^;]*;", " ", text, flags=re.S)
        self.functions = re.findall(r"([\w\s*]+?)\b(psc_\w+)\(([^)]*)\);", text)
        self.known = {name for name, _ in self.structs} | {name for _, name, _ in self.callbacks}

    def type_of(self, declared):
        """The ctypes expression of a C type."""
        words = declared.replace("const", " ").replace("*", " * ").split()
        stars = words.count("*")
        words = [word for word in words if word != "*"]
        if words[0] == "struct" and words[1] not in self.known:  # opaque: a pointer is all there is
            made, stars = "ctypes.c_void_p", stars - 1
        elif words[0] in ("struct", "enum"):
            made = class_name(words[1]) if words[0] == "struct" else "ctypes.c_int"
        elif words[0] in self.known:
            made = class_name(words[0])
        elif words[0] in ("char", "void") and stars:
            made, stars = "ctypes.c_%s_p" % words[0], stars - 1
        else:
            made = PLAIN[words[0]] and "ctypes." + PLAIN[words[0]]
        for _ in range(stars):
            made = "ctypes.POINTER(%s)" % made
        return made

    def parameters(self, declared):
        if declared.strip() == "void":
            return []
        return [self.type_of(re.match(r"(.*?)\w+$", one.strip(), re.S).group(1)) for one in declared.split(",")]

    def callback(self, name, result, declared):
        """What ctypes calls gets addresses: of a char * it would make bytes up to the first zero."""
        types = [str(self.type_of(result))] + [one.replace("c_char_p", "c_void_p") for one in self.parameters(declared)]
        return "\n    %s = ctypes.CFUNCTYPE(%s)\n" % (name, ", ".join(types))

    def struct(self, name, body):
        callbacks, fields = "", []
        for member in body.split(";"):
            member = " ".join(member.split())
            function = re.match(r"(.*?)\(\*(\w+)\)\((.*)\)$", member)
            plain = re.match(r"(.*?)(\w+)(?:\[(\d+)\])?$", member)
            if function:
                made = class_name(name) + function.group(2).capitalize()
                callbacks += self.callback(made, function.group(1), function.group(3))
                fields.append((function.group(2), made))
            elif plain:
                made = self.type_of(plain.group(1))
                fields.append((plain.group(2), "%s * %s" % (made, plain.group(3)) if plain.group(3) else made))
        lines = ",\n                    ".join('("%s", %s)' % field for field in fields)
        return "%s\n    class %s(ctypes.Structure):\n        _fields_ = [%s]\n" % (callbacks, class_name(name), lines)

    def module(self):
        parts = [HEAD, 'VERSION = "%s"\n' % self.version]
        for name, members in self.enums:
            parts.append("\n# enum %s\n" % name)
            parts += ["%s = %s\n" % (member, value.strip().replace("u", "")) for member, value in members]
        parts.append("\nif ctypes:")
        parts += [self.callback(class_name(name), result, declared) for result, name, declared in self.callbacks]
        parts += [self.struct(name, body) for name, body in self.structs]
        parts.append("\n    # Every public function, its result and its arguments.\n    FUNCTIONS = {\n")
        for result, name, declared in self.functions:
            arguments = textwrap.fill("[%s])," % ", ".join(self.parameters(declared)), 118, initial_indent=" " * 12,
                                      subsequent_indent=" " * 13, break_long_words=False)
            parts.append('        "%s": (\n            %s,\n%s\n' % (name, self.type_of(result), arguments))
        return "".join(parts) + "    }\n"


def read(path):
    """The header's text, with that of the headers which it includes in their places."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    seen = set()

    def included(found):
        name = os.path.join(os.path.dirname(path), found.group(1))
        if name in seen:
            return ""
        seen.add(name)
        with open(name, encoding="utf-8") as part:
            return part.read()

    # A part includes parts that stand before it, which are there then.
    return re.sub(r'^#include "([^"]+)"\n', "", re.sub(r'^#include "([^"]+)"\n', included, text, flags=re.M), flags=re.M)


def generate():
    return Header(read(HEADER)).module()


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(generate())
    else:
        with open(RESULT, "w", encoding="utf-8") as file:
            file.write(generate())
