"""Packages of the package index, for one interpreter each, installed once below PSC_TEST_ROOTS."""
import os
import subprocess

import pytest

import interpreters


def packages_of(interpreter, requirement, binary=True):
    """A folder with what pip installs; where it is not there, only PSC_TEST_SUITES=1 makes it, else the test is skipped."""
    name = requirement.replace("==", "-")
    folder = os.path.join(interpreters.SUITE_FOLDER, "packages", interpreter.label, name)
    if not os.path.isdir(folder):
        if os.environ.get("PSC_TEST_SUITES") != "1":
            pytest.skip("no %s for %s: PSC_TEST_SUITES=1 installs it" % (requirement, interpreter.label))
        only = ["--only-binary", ":all:"] if binary else []
        done = subprocess.run([interpreter.path, "-m", "pip", "install", "-q", *only, "--target", folder + ".part", requirement],
                              capture_output=True, timeout=600)
        if done.returncode:
            pytest.skip("pip: %s" % done.stderr.decode(errors="replace").strip().splitlines()[-1])
        os.rename(folder + ".part", folder)
    return folder
