"""pystack-core ci on GitHub and GitLab: what it writes there, and the jobs of docs/ci.md as they stand."""
import os
import subprocess

import pytest

import analyzer
import cores
from ci_runs import ci, has_pytest, leaves_cores


def test_github(tmp_path):
    page = tmp_path / "summary.md"
    page.write_text("# before\n")
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page), "GITHUB_WORKSPACE": str(tmp_path)}
    run = ci(tmp_path, "sh", "-c", "kill -KILL $$", env=env)
    assert "::error" in run.err and page.read_text().startswith("# before\n") and "SIGKILL" in page.read_text()
    assert ci(tmp_path, "true", env=env).err == "" or "::error" not in ci(tmp_path, "true", env=env).err
    quiet = ci(tmp_path, "sh", "-c", "kill -KILL $$", env=env, options=["--no-github"])
    assert "::error" not in quiet.err


def run_steps(tmp_path, steps, variables):
    """Exit code and standard error of each step of a job: a program that dies is tested, and sudo only notes what it is told."""
    tools = tmp_path / "tools"
    tools.mkdir()
    os.symlink(analyzer.PROGRAM, tools / "pystack-core")
    (tools / "sudo").write_text("#!/bin/sh\necho sudo $* >>sudo.log\n")
    (tools / "sudo").chmod(0o755)
    (tmp_path / "test_it.py").write_text("import ctypes\ndef test_boom():\n    ctypes.string_at(0)\n")
    env = {"PATH": "%s:/usr/bin:/bin" % tools, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", **variables,
           # A sanitizer's program sets its own limit of core files to 0 otherwise.
           "ASAN_OPTIONS": "disable_coredump=0:exitcode=%d" % analyzer.SANITIZER_EXIT}
    done = [subprocess.run(["bash", "-e", "-c", "\n".join(step)], cwd=tmp_path, env=env, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=1200) for step in steps]
    return [one.returncode for one in done], [one.stderr for one in done]


def test_documented_workflow(tmp_path):
    """The steps of docs/ci.md run as they stand there."""
    if not has_pytest("xdist") or not leaves_cores() or analyzer.SANITIZED:
        pytest.skip("no pytest-xdist, no cores here, or the core that doctor makes is a sanitizer's")
    with open(os.path.join(cores.SOURCE, "docs/ci.md")) as file:
        workflow = file.read().split("```yaml\n")[1].split("```")[0]
    steps: list[list[str]] = []
    for line in workflow.splitlines():
        if line.strip() == "run: |":
            steps.append([])
        elif steps and line.startswith(" " * 10):
            steps[-1].append(line[10:])
        elif "uses:" in line and steps:
            break
    assert len(steps) == 3
    codes, errors = run_steps(tmp_path, steps, {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(tmp_path),
                                                "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")})
    assert codes == [0, 1, 0], (codes, errors)
    assert "test_boom" in (tmp_path / "summary.md").read_text() and len(os.listdir(tmp_path / "cores")) == 1
    assert not (tmp_path / "sudo.log").exists()


def test_documented_gitlab_job(tmp_path):
    """The lines of its script are given to one shell; what it keeps when it fails is there."""
    if not has_pytest("xdist") or not leaves_cores() or analyzer.SANITIZED:
        pytest.skip("no pytest-xdist, no cores here, or the core that doctor makes is a sanitizer's")
    with open(os.path.join(cores.SOURCE, "docs/ci.md")) as file:
        job = file.read().split("## GitLab")[1].split("```yaml\n")[1].split("```")[0]
    script: list[str] = []
    for line in job.split("  script:\n")[1].split("  artifacts:\n")[0].splitlines():
        # A plain scalar of YAML goes on in lines that are further in.
        if line.startswith("    - "):
            script.append(line[6:])
        else:
            script[-1] += " " + line.strip()
    assert len(script) == 2 and "when: on_failure" in job
    codes, errors = run_steps(tmp_path, [script], {"GITLAB_CI": "true", "CI": "true", "CI_PROJECT_DIR": str(tmp_path)})
    assert codes == [1], errors
    for path in job.split("paths: [")[1].split("]")[0].split(", "):
        assert (tmp_path / path).exists(), path
    assert "test_boom" in (tmp_path / "crashes.md").read_text() and len(os.listdir(tmp_path / "cores")) == 1
