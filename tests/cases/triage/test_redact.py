"""Reports that are to be shared: what is nobody else's business is in none of their formats."""
import json
import os
import re
import signal
import subprocess

import pytest

import analyzer
import cores
import interpreters

# Each of these must not be seen; all of them are in memory, and most of them in a report with values.
SECRETS = ["hunter2", "alice", "ghp_0123456789abcdefghijABCDEF", "sw0rdfish", "AKIAIOSFODNN7EXAMPLE", "c00kievalue",
           "opensesame", "l1teral-of-call", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig-nature", "s3cr3t-of-env"]
PROGRAM = """import ctypes, sys
def login(password, config, url, home):
    token = "ghp_0123456789abcdefghijABCDEF"
    headers = {"Authorization": "Bearer sw0rdfish-sw0rdfish", "Cookie": "session=c00kievalue", "Accept": "text/plain"}
    note = "the key is AKIAIOSFODNN7EXAMPLE, the ticket eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig-nature"
    raise_it(url, config)
def raise_it(url, config):
    connect('l0cal-secret'), set_password("l1teral-of-call")
def connect(password):
    try:
        raise ValueError("cannot reach https://alice:hunter2@host.example/")
    except ValueError:
        ctypes.string_at(0)
def set_password(text): pass
def enter(passphrase):
    login(sys.argv[2], {"db": {"password": "opensesame", "port": 5432}},
          "https://alice:hunter2@host.example/x?token=sw0rdfish&a=1", "/home/alice/data")
enter(sys.argv[5])
"""
with open(os.path.join(cores.SOURCE, "analyzer/cli/triage/outputs/formats.def"), encoding="utf-8") as table:
    FORMATS = re.findall(r'^FORMAT\(\w+, "([^"]+)"', table.read(), re.M)
assert "ndjson" in FORMATS


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    folder = tmp_path_factory.mktemp("redact") / "home" / "alice"
    folder.mkdir(parents=True)
    (folder / "app.py").write_text(PROGRAM)
    done = subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", interpreter.path, "-s", str(folder / "app.py"),
                           "--password", "hunter2", "--api-key=sw0rdfish", "https://alice:opensesame@db/", "p0sitional"],
                          cwd=folder, capture_output=True, timeout=600,
                          env={**os.environ, "SERVICE_TOKEN": "s3cr3t-of-env", "USER": "alice", "HOME": "/home/alice",
                               "PYTHONPATH": "/home/alice/lib"})
    assert done.returncode == -signal.SIGSEGV
    return folder / "core"


def leaks(text):
    return [secret for secret in SECRETS if secret in text]


@pytest.mark.parametrize("options", [[], ["--locals"], ["--running"], ["--locals", "--running", "--all"], ["--summary"],
                                     ["--explain"], ["--list-files"]], ids=" ".join)
@pytest.mark.parametrize("form", ["text", "json"])
def test_report(core, form, options):
    plain = analyzer.run("--format", form, *options, core)
    masked = analyzer.run("--format", form, "--redact", *options, core)
    assert masked.returncode == plain.returncode
    assert leaks(plain.stdout) and not leaks(masked.stdout + masked.stderr), leaks(masked.stdout + masked.stderr)
    assert len(masked.stdout.splitlines()) == len(plain.stdout.splitlines())
    if form == "json":
        analyzer.assert_fits_schema(masked.json)
        assert masked.json.get("signature") == plain.json.get("signature")
    if "--locals" in options:
        assert "l0cal-secret" in plain.stdout and "l0cal-secret" not in masked.stdout
        assert "p0sitional" in plain.stdout and "p0sitional" not in masked.stdout
        assert "5432" in masked.stdout and "text/plain" in masked.stdout and "[redacted]" in masked.stdout


def test_explained_signature(core, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("not-in-app /home/alice/*\n")
    plain = analyzer.run("--explain-signature", "--rules", rules, core)
    masked = analyzer.run("--explain-signature", "--rules", rules, "--redact", core)
    assert "alice" in plain.stdout and masked.returncode == plain.returncode
    assert not leaks(masked.stdout + masked.stderr) and "/home/alice" not in masked.stdout, masked.stdout
    assert masked.stdout.splitlines()[1] == plain.stdout.splitlines()[1], "the hash stays"


def test_values_are_asked_for(core):
    """Without a word of redaction no shared format has values of the program or of its environment."""
    for form in FORMATS:
        result = analyzer.run("triage", "--format", form, core)
        assert not [one for one in ("s3cr3t-of-env", "c00kievalue") if one in result.stdout], form


def test_triage(core, tmp_path):
    outputs = {form: tmp_path / form for form in FORMATS}
    asked = [word for form, path in outputs.items() for word in ("--output", "%s=%s" % (form, path))]
    result = analyzer.run("triage", "--redact", "--locals", "--repository", core.parent, *asked, core)
    plain = analyzer.run("triage", core)
    assert leaks(plain.stdout) and not leaks(result.stdout + result.stderr)
    for form, path in outputs.items():
        text = path.read_text()
        assert text and not leaks(text), (form, leaks(text))
        assert "l0cal-secret" not in text and "p0sitional" not in text, (form, "names of locals say that they are secret")
        assert form not in ("html", "sarif", "sentry") or "connect(" in text, form
    report = json.loads(outputs["ndjson"].read_text())
    analyzer.assert_fits_schema(report)
    assert "/home/[user]/" in report["target"]["path"]
    # What is masked is still known as what it is.
    before = outputs["ndjson"].read_bytes()
    assert analyzer.run("triage", "--redact", "--locals", "--resume", "--output", "ndjson=%s" % outputs["ndjson"],
                        core).stdout == result.stdout
    assert outputs["ndjson"].read_bytes() == before


def test_wrong_usage(core, tmp_path):
    assert analyzer.run("--redact", "--bundle", tmp_path / "x.tar", core).returncode == analyzer.EXIT_USAGE


def test_messages(tmp_path):
    result = analyzer.run("--redact", "/home/alice/core.1")
    assert result.stderr.startswith("pystack-core: /home/[user]/core.1: ") and not result.stdout
