# -*- coding: utf-8 -*-
# Calls in source files of every encoding and line end, and by code whose line tables are odd.
import ast
import importlib
import os
import sys

import witness

FILES = [
    # name, encoding, text
    ("utf8", "utf-8", u"# плюс\ndef call(after):\n    ширина = u'日本語 \U0001f600 e\u0301'; return (ширина, after())\n"),
    ("marked", "utf-8-sig", u"def call(after): é = 1; return [after() for _ in 'x'][0]\n"),
    ("declared", "utf-8", u"# -*- coding: UTF-8 -*-\ndef call(after):\n    return u'ß' and (\n        after())\n"),
    ("latin", "latin-1", u"#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\ndef call(after):\n"
                         u"    é = u'ßß'; return é and after()\n"),
    ("windows", "cp1252", u"# coding: cp1252\ndef call(after):\n    x = u'€…œ'; return after() + 1\n"),
    ("japanese", "euc-jp", u"# coding=euc_jp\ndef call(after):\n    x = u'日本語'; return after() + 1\n"),
    ("cyrillic", "koi8-r", u"\n# -*- coding: KOI8-R -*-\ndef call(after):\n    x = u'да'; return after() + 1\n"),
    ("not_declared", "utf-8", u"x = 1\n\n# coding: latin-1\ndef call(after):\n    x = u'é'; return after() + 1\n"),
    ("windows_ends", "utf-8", u"def call(after):\r\n    x = u'é'\r\n    return x and \\\r\n        after()\r\n"),
    ("old_mac_ends", "utf-8", u"def call(after):\r    x = u'é'\r    return x and after()\r"),
    ("tabs", "utf-8", u"def call(after):\n\tif 1:\n\t\tx = u'é\t'; \f return after()\n"),
    ("long", "utf-8", u"def call(after):\n    return " + u"(u'é', " * 60 + u"after()" + u")" * 60 + u"\n"),
]


def from_files():
    sys.path.insert(0, witness.FOLDER)
    sys.dont_write_bytecode = True
    for name, encoding, text in FILES:
        with open(os.path.join(witness.FOLDER, "source_" + name + ".py"), "wb") as out:
            out.write(text.encode(encoding))
        yield importlib.import_module("source_" + name).call


def compiled(text, move):
    """The function in the text, with each node moved to the line move(its line)."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = move(node.lineno)
            if getattr(node, "end_lineno", None):
                node.end_lineno = max(move(node.end_lineno), node.lineno)
    scope = {}
    exec(compile(tree, "template.html", "exec"), scope)
    return scope["call"]


TEMPLATE = """
def call(after):
    one = 1
    two = [
        after()
        for _ in (1,)][0]
    return two
"""


def from_templates():
    """As template engines make them: backwards, far away, all on one line, far apart."""
    for move in (lambda line: 1000 - 10 * line, lambda line: 7, lambda line: 1 + line % 2 * 300,
                 lambda line: line * 100000, lambda line: 2000000000 + line, lambda line: 500 - line % 3 * 200):
        yield compiled(TEMPLATE, move)


def replaced(**changes):
    call = compiled(TEMPLATE, lambda line: line)
    call.__code__ = call.__code__.replace(**changes)
    return call


def from_replaced():
    """Code objects with another first line, and from 3.10 with tables that leave places out."""
    if sys.version_info < (3, 8):
        return
    yield replaced(co_firstlineno=1)
    yield replaced(co_firstlineno=90000)
    if sys.version_info < (3, 10):
        yield replaced(co_lnotab=b"")
        yield replaced(co_lnotab=b"\x02\x7f\x00\x7f\x02\x80\x00\x80\x02\x05")
    elif sys.version_info < (3, 11):
        yield replaced(co_linetable=b"\xfe\x80")
        yield replaced(co_linetable=b"\x02\x7f\x00\x7f\x02\x81\x00\x81\xfe\x05")
    else:
        none, line, whole = 0x80 | 15 << 3 | 7, 0x80 | 13 << 3 | 7, 0x80 | 14 << 3 | 7
        yield replaced(co_linetable=bytes([none] * 40))
        # Every eighth unit a line further; then back again and again.
        yield replaced(co_linetable=bytes([line, 2] * 40))
        yield replaced(co_linetable=bytes([line, 0x40 | 62, 31, line, 3] + [line, 0x40 | 3, 1] * 40))
        yield replaced(co_linetable=bytes([none, whole, 2, 1, 5, 9] * 20))


def nested(calls):
    calls = list(calls)
    if not calls:
        return witness.die(deep=True)
    return calls[0](lambda: nested(calls[1:])) or 1


nested(list(from_files()) + list(from_templates()) + list(from_replaced()))
