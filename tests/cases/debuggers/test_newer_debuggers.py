"""The commands' tests again, with the debuggers of newer Debian suites: PSC_TEST_SUITES=1, as root, 1 GB each.

They are unpacked below a folder (tests/tools/debian_root.sh) and started by their own dynamic linker, so that they see
this machine's processes and files; libraries that theirs do not have are taken from here.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

import pytest

import analyzer
import cores
import debuggers
import interpreters

SUITES = {"trixie": "19", "sid": "21"}  # and the version of lldb there
PACKAGES = ["libc6", "base-files", "gdb", "gdbserver", "libelf1t64", "libdw1t64", "libunwind8", "libjansson4",
            "libdeflate0", "libpython3-stdlib"]
TESTS = ["test_gdb_plugin", "test_gdb_values", "test_gdb_processes", "test_gdb_troubles", "test_gdb_terminal",
         "test_lldb_plugin"]


def script(path, line, **env):
    with open(path, "w") as file:
        file.write("#!/bin/sh\nexec env %s %s \"$@\"\n" % (" ".join("%s=%s" % one for one in env.items()), line))
    os.chmod(path, 0o755)
    return path


def needed_libraries():
    listed = subprocess.run(["ldd", debuggers.LIBRARY], check=True, capture_output=True).stdout.decode()
    return re.findall(r"^\s*(\S+) => (/\S+)", listed, re.M)


def wrap(root, version):
    """Scripts that start the root's debuggers; as the environment of other tests."""
    libraries = root + "/usr/lib/x86_64-linux-gnu"
    ours = os.path.join(root, "ours")
    os.makedirs(ours, exist_ok=True)
    for name, path in needed_libraries():
        if not os.path.exists(os.path.join(libraries, name)):
            shutil.copy(path, os.path.join(ours, name))
    lldb_home = "%s/usr/lib/llvm-%s" % (root, version)
    path = ":".join([libraries, lldb_home + "/lib", ours])
    start = "%s/lib64/ld-linux-x86-64.so.2 --library-path %s " % (root, path)
    # What is debugged must not have the Python home of the debugger.
    forget = "-iex 'unset environment PYTHONHOME'"
    module, = [one for one in glob.glob(lldb_home + "/lib/python3.*/site-packages")]
    home = {"PYTHONHOME": root + "/usr"}
    server = script(root + "/lldb-server.sh", start + lldb_home + "/bin/lldb-server")
    return {
        "PSC_TEST_GDB": script(root + "/gdb.sh", start + "%s/usr/bin/gdb --data-directory=%s/usr/share/gdb %s"
                               % (root, root, forget), **home),
        "PSC_TEST_GDBSERVER": script(root + "/gdbserver.sh", start + root + "/usr/bin/gdbserver"),
        "PSC_TEST_LLDB": script(root + "/lldb.sh", start + lldb_home + "/bin/lldb", PYTHONPATH=module,
                                LLDB_DEBUGSERVER_PATH=server, **home),
    }


@pytest.fixture(scope="module", params=SUITES)
def newer(request):
    if analyzer.SANITIZED:
        pytest.skip("a sanitized library needs its sanitizer loaded first")
    if os.environ.get("PSC_TEST_SUITES") != "1" or os.geteuid() != 0:
        pytest.skip("PSC_TEST_SUITES is not 1, or this is not root")
    root = os.path.join(interpreters.SUITE_FOLDER, "debuggers-" + request.param)
    version = SUITES[request.param]
    subprocess.run([os.path.join(cores.TOOLS, "debian_root.sh"), request.param, root, *PACKAGES,
                    "lldb-" + version, "python3-lldb-" + version], check=True, stdout=subprocess.DEVNULL)
    return wrap(root, version)


@pytest.mark.parametrize("name", TESTS)
def test_again(newer, name):
    done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", os.path.join(os.path.dirname(__file__), name + ".py")],
                          env={**os.environ, **newer}, capture_output=True, timeout=1700)
    assert done.returncode == 0, done.stdout.decode()[-6000:]


def test_which_they_are(newer):
    for variable, what in (("PSC_TEST_GDB", r"GNU gdb .* (\d+)\.\d+"), ("PSC_TEST_LLDB", r"lldb version (\d+)")):
        done = subprocess.run([newer[variable], "--version"], check=True, capture_output=True)
        assert int(re.search(what, done.stdout.decode()).group(1)) >= 16
