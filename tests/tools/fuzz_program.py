"""
Damaged files that the program itself reads and no target has: reports (summary, triage --resume), groups and
baselines, rules, bundles, maps of names; what changes while it is recorded; and what it makes of damaged cores: bundles,
triage in each format.
"""
import copy
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases", "support"))
import analyzer  # noqa: E402

ODD: list = [None, True, -1, 0, 1 << 63, 1e300, "", "x" * 100000, "\x1b[2J", "\u202e", [], {}, [[[[]]]], {"a": {"a": 1}}]
ODD_BYTES = [b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\x1b[31m", b"\n", b"\r\n", b"\"", b"{", b"[" * 3000, b"-", b"1e999",
             b"\xe2\x80\xae", b"\\ud800", b"../../", b"/etc/passwd", b"* *\n", b"9" * 400]
CHURN = """
import subprocess, sys, threading, time
end = time.monotonic() + float(sys.argv[1])
def live(number):
    names = {"deep": number % 90}
    exec("def made(n):\\n    return made(n - 1) if n else sum(range(2000))\\nmade(deep)", names)
while time.monotonic() < end:
    threads = [threading.Thread(target=live, args=(i,)) for i in range(50)]
    for thread in threads:
        thread.start()
    subprocess.run(["true"])
    for thread in threads:
        thread.join()
THEN
"""
TRIAGE_FORMATS = ["text", "ndjson", "groups", "markdown", "github", "sarif", "satyr", "sentry"]


class Failed(Exception):
    """A report that is not as it has to be."""


def damaged(choice, data):
    """Bytes with some of them changed, dropped, repeated, or put in."""
    data = bytearray(data)
    for _ in range(choice.randint(1, 6)):
        at, size = choice.randrange(len(data) + 1), choice.choice((1, 1, 2, 8, 100, 5000))
        kind = choice.randrange(5)
        if kind == 0:
            data[at:at] = choice.choice(ODD_BYTES)
        elif kind == 1:
            del data[at:at + size]
        elif kind == 2:
            data[at:at] = data[at:at + size] * choice.choice((1, 2, 50))
        elif kind == 3:
            del data[at:]
        elif at < len(data):
            data[at] = choice.randrange(256)
    return bytes(data)


def damaged_json(choice, text):
    """JSON with members and items exchanged, dropped, or of other types; or damaged as any text."""
    if choice.randrange(3) == 0:
        return damaged(choice, text.encode())
    document = json.loads(text)
    for _ in range(choice.randint(1, 5)):
        node = document
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = choice.choice(keys)
            if isinstance(node[key], (dict, list)) and node[key] and choice.randrange(4):
                node = node[key]
                continue
            if choice.randrange(4) == 0:
                del node[key]
            elif choice.randrange(4) == 0 and isinstance(node, list):
                node.extend(copy.deepcopy(node[:50]))
            else:
                node[key] = copy.deepcopy(choice.choice(ODD))
            break
    return json.dumps(document, ensure_ascii=choice.randrange(2) == 0).encode("utf-8", "surrogatepass")


class Program:
    """The program, and undamaged files of it."""

    def __init__(self, scratch, cores, jit_dump):
        self.cores, self.jit_dump = cores, jit_dump
        self.folder = os.path.join(scratch, "program")
        os.makedirs(self.folder)
        self.reports = [analyzer.run("--format", "json", core).stdout for core in cores]
        self.groups = analyzer.run("triage", "--format", "groups", *cores).stdout
        self.lines = analyzer.run("triage", "--format", "ndjson", *cores).stdout
        self.rules = "".join(analyzer.run("--explain-signature", core).stdout for core in cores)
        self.rules = "skip libc!str*\nkeep *::run\nrename a b\nin-app */x.py\nprefix ?[a-z]*\n# " + self.rules[:80]
        self.bundles = []
        for number, suffix in enumerate((".tar", ".tar.gz", ".tar.zst")):
            path = os.path.join(self.folder, "bundle" + suffix)
            analyzer.run("--bundle", path, cores[number % len(cores)])
            if os.path.exists(path):
                self.bundles.append((path, cores[number % len(cores)]))

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def core(self, choice, name="core"):
        with open(choice.choice(self.cores), "rb") as file:
            data = bytearray(file.read())
        head = min(len(data), 1 << 16)
        for _ in range(choice.randint(0, 6)):
            data[choice.randrange(head)] = choice.randrange(256)
        if choice.randrange(8) == 0:
            del data[choice.randrange(len(data)):]
        return self.write(name, data)

    def run(self, *arguments, **more):
        """Exit 0 to 3, and text that drives no terminal; a crash and a hang are failures of run()."""
        result = analyzer.run(*arguments, **more)
        if result.returncode not in (0, 1, 2, 3):
            raise Failed(result.describe())
        odd = analyzer.forbidden_characters((result.stdout + result.stderr).replace("\t", ""))
        if odd:
            raise Failed("%s\nhas %s" % (result.describe(), odd))
        return result

    def run_json(self, *arguments):
        result = self.run("--format", "json", *arguments)
        if result.returncode < 2:
            analyzer.assert_fits_schema(json.loads(result.stdout), result.describe())

    # ---- the kinds ----

    def handle(self, choice):
        """The kernel's pipe, replayed: of a process that is none, or another one; and what was kept, damaged."""
        store = os.path.join(self.folder, "crashes")
        shutil.rmtree(store, ignore_errors=True)
        for number in range(choice.randint(1, 2)):
            pid = choice.choice((os.getpid(), 999999, 1))
            with open(self.core(choice), "rb") as core:
                self.run("handle", *choice.choice(([], ["--redact"])), "--store", store, "--time-limit", 60,
                         pid, os.geteuid(), os.getegid(), choice.randrange(70), 1700000000 + number, stdin=core)
        for folder, _, names in os.walk(store):
            for name in names:
                if choice.randrange(2) == 0:
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        data = file.read()
                    with open(path, "wb") as file:
                        file.write(damaged_json(choice, data.decode()) if name.endswith(".json") else damaged(choice, data))
        self.run("crashes", "--store", store)
        names = os.listdir(store)
        for line in self.run("crashes", "--format", "json", "--store", store).stdout.splitlines():
            json.loads(line)
        for name in names[:3]:
            self.run("crashes", "--store", store, "--format", choice.choice(("text", "json")), "show", name)
        self.run("crashes", "--store", store, "prune", "--max-count", 1)

    def heap(self, choice):
        options = choice.choice(([], ["--verify"], ["--largest"], ["--type", "dict"], ["--diff", choice.choice(self.cores)]))
        self.run("heap", "--format", choice.choice(("text", "json", "html")), *options, self.core(choice))

    def slim(self, choice):
        small = os.path.join(self.folder, "small.core")
        if os.path.exists(small):
            os.unlink(small)
        self.run("slim", *choice.choice(([], ["--with-files"], ["--redact"])), "-o", small, self.core(choice))
        if os.path.exists(small):
            self.run_json(small)

    def summary(self, choice):
        paths = [self.write("report-%d" % number, damaged_json(choice, choice.choice(self.reports)))
                 for number in range(choice.randint(1, 3))]
        result = self.run("summary", "--format", choice.choice(("json", "text")), *paths)
        if result.returncode < 2 and result.stdout.startswith("{"):
            analyzer.assert_fits_schema(json.loads(result.stdout), result.describe())

    def triage(self, choice):
        store = os.path.join(self.folder, "store")
        shutil.rmtree(store, ignore_errors=True)
        os.makedirs(store)
        for number in range(choice.randint(1, 2)):
            self.core(choice, "store/core.%d" % number)
        self.write("store/other", damaged(choice, self.reports[0].encode()))
        kind = choice.choice(TRIAGE_FORMATS)
        known = self.groups if choice.randrange(2) else self.lines
        known = damaged_json(choice, known) if known is self.groups else damaged(choice, known.encode())
        result = self.run("triage", "--format", kind, "--baseline", self.write("known", known), "--fail-on", "new", store)
        if result.returncode != 2 and kind in ("groups", "sarif"):
            document = json.loads(result.stdout)
            if kind == "groups":
                analyzer.assert_fits_schema(document, result.describe())
        elif result.returncode != 2 and kind in ("ndjson", "satyr", "sentry"):
            for line in result.stdout.splitlines():
                json.loads(line)

    def resume(self, choice):
        path = self.write("lines", damaged(choice, self.lines.encode()))
        self.run("triage", "--resume", "--output", "ndjson=" + path, *self.cores[:2])

    def rule_file(self, choice):
        rules = self.write("rules", damaged(choice, self.rules.encode()))
        self.run("--explain-signature", "--rules", rules, choice.choice(self.cores))

    def sysroot(self, choice):
        path, core = choice.choice(self.bundles)
        with open(path, "rb") as file:
            data = file.read()
        self.run_json("--sysroot", self.write("damaged" + path[path.index(".tar"):], damaged(choice, data)), core)

    def names(self, choice):
        """Names of code that was made at run time: a jitdump, which the core has mapped."""
        core, dump, pid = self.jit_dump
        os.makedirs(os.path.join(self.folder, "root/tmp"), exist_ok=True)
        with open(dump, "rb") as file:
            self.write("root/tmp/jit-%d.dump" % pid, damaged(choice, file.read()))
        self.run_json("--sysroot", os.path.join(self.folder, "root"), core)

    def bundle(self, choice):
        path = os.path.join(self.folder, "made.tar")
        if os.path.exists(path):
            os.unlink(path)
        self.run_json("--bundle", path, self.core(choice))
        if not os.path.exists(path):
            return
        with open(path, "rb") as file, tarfile.open(fileobj=io.BytesIO(file.read())) as archive:
            for name in archive.getnames():
                if name.startswith("/") or ".." in name.split("/"):
                    raise Failed("--bundle wrote the member %r" % name)

    def record(self, choice):
        """A process whose threads and code come and go; it may end, stop or be killed meanwhile."""
        code = choice.choice(("", "import os, signal; os.kill(os.getpid(), signal.SIG%s)" % choice.choice(("STOP", "KILL")),
                              "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'while True: pass'])"))
        script = self.write("churn.py", CHURN.replace("THEN", code).encode())
        path = os.path.join(self.folder, "profile")
        kind = choice.choice(("ndjson", "collapsed", "flamegraph", "firefox", "lines"))
        with subprocess.Popen([sys.executable, script, str(choice.uniform(0.1, 0.4))], stdin=subprocess.DEVNULL) as process:
            try:
                known = ("--idle", "--children", "--no-pause", "--gil", "--threads")
                options = [option for option in known if not choice.randrange(3)]
                self.run("record", "--pid", process.pid, "--duration", 0.3, "--rate", choice.choice((10, 1000, 20000)),
                         *options, "--output", "%s=%s" % (kind, path))
            finally:
                process.kill()
        if kind == "ndjson" and os.path.exists(path):
            with open(path) as lines:
                for line in lines:
                    json.loads(line)


def run(options, scratch, cores, jit_dump, numbers):
    """Whether none of the mutants of these numbers failed. `jit_dump` is a core, its jitdump and its process; or None."""
    analyzer.PROGRAM = os.path.join(options.build, "analyzer/pystack-core")
    analyzer.SANITIZED = options.sanitized
    begun, failed = time.monotonic(), 0
    program = Program(scratch, cores, jit_dump)
    kinds = [program.summary, program.triage, program.resume, program.rule_file, program.sysroot, program.bundle,
             program.handle, program.heap, program.slim, program.record]
    if jit_dump:
        kinds.append(program.names)
    for number in numbers:
        kind = kinds[number % len(kinds)]
        try:
            kind(random.Random("%d/%d" % (options.seed, number)))
        except (AssertionError, Failed, ValueError, tarfile.TarError) as error:
            failed += 1
            kept = os.path.join(options.save, "program-%d-%d" % (options.seed, number))
            shutil.copytree(program.folder, kept, dirs_exist_ok=True)
            print("FAILED program mutant %d of seed %d, %s: %s: %s\n  saved: %s"
                  % (number, options.seed, kind.__name__, type(error).__name__, str(error)[:3000], kept))
    print("program: %d mutants of %d subjects, seed %d, %d failed, %.1f s"
          % (len(numbers), len(cores), options.seed, failed, time.monotonic() - begun))
    return not failed
