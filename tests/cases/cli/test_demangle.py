"""`pystack-core demangle`: symbols alone and inside lines."""
import os
import subprocess

import pytest

import analyzer

PROGRAM = os.environ["PSC_PROGRAM"]
LONG = "_Z1000000" + "x" * 100000
# What Cython, g++ and rustc made, and what a person wrote.
SYMBOLS = {
    "__pyx_pw_8implicit_4_als_5least_squares_cg": "least_squares_cg",
    "__pyx_fuse_1_0__pyx_pw_8implicit_4_als_31_least_squares_cg": "_least_squares_cg",
    "__pyx_f_3pkg_3sub_5_kern_4CSub_cpmethod": "CSub.cpmethod",
    "__pyx_pw_3pkg_3sub_5_kern_5PyCls_3lambda1": "PyCls.<lambda>",
    "__pyx_f_3pkg_3sub_5_kern_plain_cdef.part.0.lto_priv.0": "plain_cdef",
    "__pyx_pf_3pkg_3sub_5_kern_35prange_fn._omp_fn.0": "prange_fn [parallel]",
    "_ZL29__pyx_f_3pkg_6cppmod_vec_cdefi": "vec_cdef",
    "__pyx_Upf_6unimod_berfn_8lc": "\u00fcberfn",
    "_ZN3foo3Bar3runEi": "foo::Bar::run",
    "_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write",
    "main": "main",
    "__Pyx_PyObject_Call": "__Pyx_PyObject_Call",
    "": "",
}


def demangle(*arguments, text=None):
    return subprocess.run([PROGRAM, "demangle", *arguments], input=text, capture_output=True,
                          encoding="utf-8", timeout=600)


def test_arguments():
    done = demangle(*SYMBOLS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n") == list(SYMBOLS.values()) + [""]


@pytest.mark.parametrize("line", ["{}", "#1  0x00007f01 in {} () from x.so\n", "{}+0x10 [{}].\n\n", "({}...)"])
def test_inside_lines(line):
    for symbol, name in SYMBOLS.items():
        done = demangle(text=line.format(symbol, symbol))
        assert (done.returncode, done.stdout) == (0, line.format(name, name))


@pytest.mark.parametrize("text", ["", "\n", "...\n", "_Z\n", "a" * 70000 + "\n", LONG, "\u00fc\u4e2d\n"])
def test_everything_else_stays(text):
    assert demangle(text=text).stdout == text


def test_bytes_stay():
    every = bytes(range(256)) * 3
    assert subprocess.run([PROGRAM, "demangle"], input=every, capture_output=True).stdout == every


# What the names of one text tell of each other; the table's order is that of nm.
TABLE = {
    "__pyx_f_3pkg_6Solver_6Solver_run": "Solver.run",
    "__pyx_gb_3pkg_6Solver_6generator": "steps",
    "__pyx_gb_3pkg_6Solver_6Solver_2generator1": "Solver.<genexpr>",
    "__pyx_lambda_funcdef_lambda2": "fit.<lambda>",
    "__pyx_module_is_main_pkg__Solver": "__pyx_module_is_main_pkg__Solver",
    "__pyx_pf_3pkg_6Solver_4free_list": "free.list",
    "__pyx_pf_3pkg_6Solver_4steps": "steps",
    "__pyx_pf_3pkg_6Solver_6Solver_genexpr": "Solver.<genexpr>",
    "__pyx_pw_3pkg_6Solver_4free_1list": "free.list",
    "__pyx_pw_3pkg_6Solver_3fit_lambda2": "fit.<lambda>",
    "__pyx_pw_3pkg_6Solver_5steps": "steps",
}


def test_symbols_of_one_table(tmp_path):
    table = tmp_path / "table"
    table.write_text("".join("0001 t %s\n" % symbol for symbol in TABLE))
    with table.open() as text:
        done = subprocess.run([PROGRAM, "demangle"], stdin=text, capture_output=True, encoding="utf-8")
    assert done.stdout == "".join("0001 t %s\n" % name for name in TABLE.values())
    assert demangle(*TABLE).stdout.split() == list(TABLE.values())


def test_lines_come_while_the_input_is_open():
    """Who types, or a program at work, gets each line; with Cython's symbols after a pause."""
    with subprocess.Popen([PROGRAM, "demangle"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        for line, shown in ((b"_Z3foov\n", b"foo\n"), (b"__pyx_f_3pkg_3mod_f in x.so\n", b"f in x.so\n"),
                            (b"no symbol\n", b"no symbol\n")):
            running.stdin.write(line)
            running.stdin.flush()
            assert running.stdout.readline() == shown
        running.stdin.close()
        assert running.wait() == 0


@pytest.mark.parametrize("line, shown", [
    ("._ZN3foo3Bar3runEi", ".foo::Bar::run"),
    ("_ZN3foo3Bar3runEi@plt", "foo::Bar::run@plt"),
    ("<__pyx_f_1m_f@@V1_2>:", "<f@@V1_2>:"),
    ("call *__pyx_f_1m_f(%rip)", "call *f(%rip)"),
    ("a__pyx_f_1m_f", "a__pyx_f_1m_f"),
    ("\u201c_Z3foov\u201d", "\u201cfoo\u201d"),
    ("__pyx_gb_1m_1A_1\u041a_2generator", "A.\u041a.<generator>"),
    ("PyInit_mod", "PyInit_mod"),
    ("_Z3foov\r", "foo\r"),
])
def test_words(line, shown):
    for end in ("", "\n"):
        assert subprocess.run([PROGRAM, "demangle"], input=(line + end).encode(),
                              capture_output=True).stdout == (shown + end).encode()


def test_long_lines(tmp_path):
    """Without a line break in twenty megabytes; a word that is too long stays."""
    text = tmp_path / "text"
    text.write_bytes(b"_Z3foov " * 2500000 + b"_Z3foov" * 20000 + b" _Z3foov")
    with text.open("rb") as file:
        done = subprocess.run([PROGRAM, "demangle"], stdin=file, capture_output=True)
    assert done.stdout == b"foo " * 2500000 + b"_Z3foov" * 20000 + b" foo"


def test_help_and_wrong_usage():
    assert demangle("--help").stdout.startswith("Usage: pystack-core demangle")
    wrong = demangle("--wrong")
    assert (wrong.returncode, wrong.stdout) == (64, "") and "--wrong" in wrong.stderr
    assert demangle("--", "--wrong").stdout == "--wrong\n"


def test_a_file_of_that_name(tmp_path):
    (tmp_path / "demangle").write_text("no core")
    done = subprocess.run([PROGRAM, "./demangle"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "demangle" in done.stderr and done.stdout == ""


def test_a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "demangle", "main"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "standard output" in done.stderr


def rust_of(levels, first="TllE"):
    """Each type is a pair of the one before, by reference: 2 ** levels numbers."""
    text, before = "INvC1a1f" + first, 8
    for _ in range(levels):
        here = len(text)
        text += "TB%sB%sE" % ((base_62(before),) * 2)
        before = here
    return "_R" + text + "E"


def base_62(number):
    digits = ""
    number -= 1
    while number or not digits:
        digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 62] + digits
        number //= 62
    return digits + "_"


def cxx_of(levels):
    """The same of C++, by its substitutions."""
    names = ["S%X_" % (number + 1) if number < 15 else "SG_" for number in range(levels)]
    return "_Z1fI1PIiiE" + "".join("S0_I%s%sE" % (name, name) for name in names) + "Evv"


def silent_of(levels):
    """Of paths nine hundred steps long that print one letter."""
    return rust_of(levels, "Nv" * 900 + "C1a" + "0" * 900)


def test_names_that_print_little():
    line = silent_of(30) + "\n"
    begun = os.times()
    done = demangle(text=line * (2000000 // len(line)))
    ended = os.times()
    took = ended.children_user + ended.children_system - begun.children_user - begun.children_system
    assert took < (20 if analyzer.SANITIZED else 5)
    assert (done.returncode, done.stdout.count("\n")) == (1, 2000000 // len(line)) and done.stdout.endswith(2 * line)
    assert done.stdout.startswith("a::f::<a, (a, a), ((a, a), (a, a)), ")


@pytest.mark.parametrize("make", [rust_of, cxx_of])
def test_names_that_grow_without_end(make):
    """A hundred bytes that stand for more than memory has: the beginning of it; of many of them some stay as they are."""
    assert demangle(make(2)).stdout.count("(i32, i32)" if make is rust_of else "P<int, int>") == 1 + 2 + 4
    done = demangle(make(14))
    assert done.returncode == 0 and 65536 <= len(done.stdout) < 65536 + 1000
    assert done.stdout.startswith("a::f::<(i32, i32), ((" if make is rust_of else "f<P<int, int>, P<P<")
    line = make(14) + "\n"
    count = 2000000 // len(line)
    begun = os.times()
    done = demangle(text=line * count)
    ended = os.times()
    assert ended.children_user + ended.children_system - begun.children_user - begun.children_system < 5
    assert done.returncode == 1 and done.stdout.count("\n") == count and done.stdout.endswith(2 * line)
    assert done.stderr == "pystack-core: names are too long, or take too long: further symbols stay as they are\n"
