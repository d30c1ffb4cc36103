"""--tasks: the tasks of trio and curio, each as the library itself says."""
import subprocess

import pytest

import analyzer
import cores
import interpreters
from index_packages import packages_of

TRIO = {(3, 8): "0.27.0", (3, 11): "0.22.2", (3, 12): "0.27.0", (3, 13): "0.35.0"}
CURIO = {(3, 8): "1.6", (3, 11): "1.6"}


def pairs(versions):
    return [pytest.param(one, versions[one.minor], id="%s-%s" % (one.label, versions[one.minor]))
            for one in interpreters.find_wanted() if not one.root and not one.is_system and one.minor in versions]


def assert_tasks_are(core, framework):
    document = analyzer.json_of(core.path, "--tasks").json
    analyzer.assert_fits_schema(document)
    assert not [warning for warning in document["warnings"] if warning["code"] == "tasks"]
    truth = core.truth["promises"]["tasks"]
    found = {task["id"]: task for task in document["tasks"]}
    assert set(found) == set(truth)
    for number, said in truth.items():
        task = found[number]
        assert task["framework"] == framework and not task["frames_cut"] and task["waits_for"] == []
        assert (task["name"], task["state"]) == (said["name"], said["state"])
        assert sorted(task["children"]) == said["children"]
        assert task["awaits"] == said.get("awaits")
        if said["frames"] is not None:
            assert [[frame["file"], frame["line"], frame["name"]] for frame in task["frames"]] == said["frames"], said["name"]
        else:
            assert task["thread"] == document["threads"][0]["tid"] and task["frames"][-1]["name"] == "main"
    text = analyzer.run("--tasks", core.path).stdout
    assert "\n%s \u00b7 %d tasks\n" % (framework, len(truth)) in text and "asyncio \u00b7" not in text
    return text


def assert_trio(core):
    text = assert_tasks_are(core, "trio")
    lines = text[text.index("\ntrio \u00b7"):].splitlines()
    assert next(line for line in lines if line.startswith("Task ")).startswith('Task "<init>" ')
    main = next(line for line in lines if '"__main__.main"' in line)
    assert "\u00b7 running \u00b7 6 tasks in its nurseries" in main
    below = next(line for line in lines if '"opens_two"' in line)
    assert below.endswith("\u00b7 waits for 2 tasks \u00b7 3 tasks in its nurseries") and below.index("Task") > main.index("Task")


@pytest.mark.parametrize("one,version", pairs(TRIO))
def test_trio_of_the_index(one, version):
    assert_trio(cores.make_core("trio_tasks", one, packages_of(one, "trio==" + version)))


def test_trio_of_the_distribution(system):
    if subprocess.run([system.path, "-s", "-c", "import trio"], capture_output=True).returncode:
        pytest.skip("%s has no trio: install python3-trio" % system.label)
    assert_trio(cores.make_core("trio_tasks", system))


@pytest.mark.parametrize("one,version", pairs(CURIO))
def test_curio_of_the_index(one, version):
    assert_tasks_are(cores.make_core("curio_tasks", one, packages_of(one, "curio==" + version, binary=False)), "curio")
