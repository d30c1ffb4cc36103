"""Files that are written where others may write, too: nobody's link leads them, and nobody reads what is not his."""
import os
import stat

import pytest

import analyzer
import living

NOBODY = 65534


@pytest.fixture
def shared(tmp_path):
    """A folder like /tmp, and a file of ours that another user would like to have overwritten."""
    folder, precious = tmp_path / "shared", tmp_path / "precious"
    folder.mkdir()
    folder.chmod(0o1777)
    precious.write_text("precious")
    return folder, precious


def need_root():
    if os.geteuid() != 0:
        pytest.skip("a second user needs root")


def plant(link, target, owner=NOBODY):
    os.symlink(target, link)
    os.lchown(link, owner, owner)


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def test_link_of_another_user_is_replaced(any_core, shared):
    need_root()
    folder, precious = shared
    for name, target in (("report", precious), ("dangling", folder.parent / "new"), ("relative", "../precious")):
        plant(folder / name, target)
        result = analyzer.run("-o", folder / name, any_core)
        assert result.returncode == 0, result.describe()
        assert not os.path.islink(folder / name) and os.lstat(folder / name).st_uid == 0
        assert (folder / name).read_text() == analyzer.run(any_core).stdout
    assert precious.read_text() == "precious" and not (folder.parent / "new").exists()
    # A link of ours that leads to one of theirs.
    plant(folder / "theirs", precious)
    os.symlink("theirs", folder / "ours")
    assert analyzer.run("-o", folder / "ours", any_core).returncode == 0
    assert precious.read_text() == "precious" and os.path.islink(folder / "ours")


def test_core_of_a_process_replaces_links(shared):
    """Whoever they belong to: a core file is for one place."""
    folder, precious = shared
    with living.one_busy() as process:
        name = "core.%d" % process.pid
        for kind in ("--save-core", "--save-core=full"):
            plant(folder / name, precious, NOBODY if os.geteuid() == 0 else os.geteuid())
            result = living.report(process.pid, kind, cwd=folder)
            assert result.returncode == 0, result.describe()
            assert not os.path.islink(folder / name) and mode_of(folder / name) == 0o600
            (folder / name).unlink()
    assert precious.read_text() == "precious"


def test_own_link_is_followed(any_core, tmp_path):
    (tmp_path / "deep").mkdir()
    os.symlink("deep/second", tmp_path / "first")
    os.symlink(tmp_path / "report", tmp_path / "deep" / "second")
    for _ in range(2):  # it is made, and replaced
        assert analyzer.run("-o", tmp_path / "first", any_core).returncode == 0
        assert (tmp_path / "report").read_text() == analyzer.run(any_core).stdout
        assert os.path.islink(tmp_path / "first") and os.path.islink(tmp_path / "deep" / "second")
    os.symlink("circle", tmp_path / "circle")
    result = analyzer.run("-o", tmp_path / "circle", any_core)
    assert result.returncode == analyzer.EXIT_NOTHING and "symbolic links" in result.stderr


def test_rights_of_a_file_are_kept(any_core, tmp_path):
    path = tmp_path / "report"
    for mode in (0o600, 0o640, 0o664):
        path.write_text("old")
        path.chmod(mode)
        assert analyzer.run("-o", path, any_core).returncode == 0
        assert mode_of(path) == mode and path.read_text() != "old"
    path.unlink()
    assert analyzer.run("-o", path, any_core).returncode == 0
    mask = os.umask(0)
    os.umask(mask)
    assert mode_of(path) == 0o666 & ~mask


def test_values_are_for_the_owner_alone(any_core, tmp_path):
    path, document = tmp_path / "report", tmp_path / "document"
    path.write_text("old")
    path.chmod(0o644)
    assert analyzer.run("--locals", "-o", path, "--output", "json=%s" % document, any_core).returncode == 0
    assert mode_of(path) == mode_of(document) == 0o600 and " = " in path.read_text()
    path.chmod(0o644)
    analyzer.run("--eval", "main/0: x", "--output", "json=%s" % path, any_core)
    assert mode_of(path) == 0o600


def test_file_and_pipe_of_another_user(any_core, shared):
    need_root()
    folder, _ = shared
    (folder / "report").write_text("planted")
    (folder / "report").chmod(0o666)
    os.chown(folder / "report", NOBODY, NOBODY)
    assert analyzer.run("-o", folder / "report", any_core).returncode == 0
    assert os.stat(folder / "report").st_uid == 0 and not mode_of(folder / "report") & 0o022
    os.mkfifo(folder / "pipe")
    os.chown(folder / "pipe", NOBODY, NOBODY)
    # One that nobody reads is not waited for.
    unread = analyzer.run("-o", folder / "pipe", any_core, timeout=60)
    assert unread.returncode == analyzer.EXIT_NOTHING and "not permitted" in unread.stderr, unread.describe()
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    result = analyzer.run("-o", folder / "pipe", any_core)
    assert result.returncode == analyzer.EXIT_NOTHING and "not permitted" in result.stderr, result.describe()
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""
    os.close(reader)
