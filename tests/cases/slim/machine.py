"""A virtual machine of our own: qemu, without KVM, boots a Debian kernel with what a test needs in its memory.

The kernel and qemu are those of PSC_TEST_QEMU and PSC_TEST_KERNEL, or of this machine, or are unpacked below
PSC_TEST_ROOTS (tests/tools/debian_root.sh; root and network, only in a thorough run).
"""
import glob
import gzip
import os
import re
import shutil
import stat
import subprocess
import tarfile

import pytest

import analyzer
import interpreters

TOOLS = os.path.join(interpreters.TESTS, "tools")
PACKAGES = ["qemu-system-x86", "linux-image-amd64"]
MEGABYTES = 4096
WALL_SECONDS = 2400
LEFT_OUT = ("test", "idlelib", "ensurepip", "site-packages", "dist-packages", "tkinter", "turtledemo", "pydoc_data",
            "lib2to3", "__phello__")
# From the processor to a disk.
MODULES = ["virtio/virtio.ko", "virtio/virtio_ring.ko", "virtio/virtio_pci_legacy_dev.ko", "virtio/virtio_pci_modern_dev.ko",
           "virtio/virtio_pci.ko", "block/virtio_blk.ko"]
DISK_BYTES = 8 << 30


def find_qemu(root):
    """The command that starts it, or None."""
    named = os.environ.get("PSC_TEST_QEMU") or shutil.which("qemu-system-x86_64")
    if named:
        return [named]
    if not os.path.exists(root + "/usr/bin/qemu-system-x86_64"):
        return None
    # Its libraries are those of its own suite, and so is their linker.
    folder = root + "/usr/lib/x86_64-linux-gnu"
    return ["env", "QEMU_MODULE_DIR=%s/qemu" % folder, folder + "/ld-linux-x86-64.so.2", "--library-path", folder,
            root + "/usr/bin/qemu-system-x86_64", "-L", root + "/usr/share/qemu", "-L", root + "/usr/share/seabios"]


def find_kernel(root):
    named = os.environ.get("PSC_TEST_KERNEL")
    found = [named] if named else sorted(glob.glob("/boot/vmlinuz-*-amd64")) + sorted(glob.glob(root + "/boot/vmlinuz-*"))
    return next((path for path in found if os.access(path, os.R_OK)), None)


def find_modules(kernel):
    """Its modules that a disk needs; PACKAGES and Debian's machines have them beside it."""
    version = os.path.basename(kernel)[len("vmlinuz-"):]
    folder = os.path.join(os.path.dirname(kernel), "..", "lib/modules", version, "kernel/drivers")
    return [path for path in (os.path.join(folder, name) for name in MODULES) if os.path.exists(path)]


def find_parts():
    """(qemu, kernel); skips the test, and says what is missing, where they are not to be had."""
    if not analyzer.THOROUGH:
        pytest.skip("A VIRTUAL MACHINE IS STARTED ONLY WITH --thorough (PSC_TEST_THOROUGH=1)")
    root = os.path.join(interpreters.SUITE_FOLDER, "machine")
    problem = "they are not unpacked: only root can do that"
    if not (find_qemu(root) and find_kernel(root)) and os.geteuid() == 0:
        done = subprocess.run([os.path.join(TOOLS, "debian_root.sh"), "bookworm", root, *PACKAGES],
                              capture_output=True, check=False)
        problem = done.stderr.decode(errors="replace")[-300:]
    qemu, kernel = find_qemu(root), find_kernel(root)
    if not qemu or not kernel:
        pytest.skip("NO VIRTUAL MACHINE HERE: PSC_TEST_QEMU and PSC_TEST_KERNEL name qemu and a kernel (%s)" % problem)
    return qemu, kernel


def libraries(program):
    """What its dynamic linker loads, and that linker; nothing for one that is static."""
    done = subprocess.run(["ldd", program], capture_output=True, check=False)
    return re.findall(r"(/\S+) \(0x", done.stdout.decode())


class Image:
    """An initial root file system: cpio's "newc" format (Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self):
        self.entries = {}

    def add_folder(self, path):
        if path not in ("", "/"):
            self.add_folder(os.path.dirname(path))
            self.entries.setdefault(path, (stat.S_IFDIR | 0o755, b""))

    def add_bytes(self, path, data, mode=0o644):
        self.add_folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, data)

    def add_file(self, path, source=None):
        """A file of this machine, in the same place or another, and all links on the way."""
        source = source or path
        if os.path.islink(source):
            self.add_folder(os.path.dirname(path))
            self.entries[path] = (stat.S_IFLNK | 0o777, os.readlink(source).encode())
            self.add_file(os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(source))), os.path.realpath(source))
            return
        with open(source, "rb") as file:
            self.add_bytes(path, file.read(), os.stat(source).st_mode & 0o777)

    def add_program(self, path, source=None):
        self.add_file(path, source)
        for library in libraries(source or path):
            self.add_file(library)

    def add_python(self, interpreter):
        """With its library, but for what is large and not needed; what extensions load, too."""
        self.add_program(interpreter.path)
        probe = "import os, sys; print(os.path.dirname(os.__file__)); print(sys.prefix)"
        folder, prefix = subprocess.run([interpreter.path, "-I", "-c", probe], capture_output=True,
                                        check=True).stdout.decode().splitlines()
        for where, names, files in os.walk(folder):
            names[:] = [name for name in names if name not in LEFT_OUT and not name.startswith("config-")]
            for name in files:
                path = os.path.join(where, name)
                if os.path.islink(path) and not os.path.exists(path):
                    continue
                self.add_file(path)
                if name.endswith(".so"):
                    for library in libraries(path):
                        self.add_file(library)
        return prefix

    def add_modules(self, kernel):
        """Where they are then; some need others of them."""
        found = find_modules(kernel)
        for path in found:
            self.add_file("/modules/" + os.path.basename(path), path)
        return ["/modules/" + os.path.basename(path) for path in found]

    def unpack(self, folder):
        """All of it below a folder of this machine: --sysroot of what dies there."""
        for name, (mode, data) in sorted(self.entries.items()):
            path = str(folder) + name
            if stat.S_ISDIR(mode):
                os.makedirs(path, exist_ok=True)
            elif stat.S_ISLNK(mode):
                os.symlink(data, path)
            else:
                with open(path, "wb") as file:
                    file.write(data)
                os.chmod(path, stat.S_IMODE(mode))

    def write(self, path):
        with gzip.open(path, "wb", 1) as file:
            for number, (name, (mode, data)) in enumerate([*sorted(self.entries.items()), ("TRAILER!!!", (0, b""))], 1):
                encoded = name.lstrip("/").encode() + b"\0"
                fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
                head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
                file.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))


def boot(parts, image, folder):
    """Runs /init of an image, which writes a tar file to its disk, /dev/vda; the folder where that is unpacked."""
    qemu, kernel = parts
    memory, console, disk, found = folder / "memory.gz", folder / "console", folder / "disk", folder / "found"
    image.write(memory)
    found.mkdir()
    with open(disk, "wb") as file:
        file.truncate(DISK_BYTES)
    command = [*qemu, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(MEGABYTES), "-display", "none",
               "-no-reboot", "-nodefaults", "-kernel", kernel, "-initrd", str(memory), "-serial", "file:%s" % console,
               "-drive", "file=%s,format=raw,if=virtio,cache=unsafe" % disk, "-append",
               "console=ttyS0 rdinit=/init panic=-1 loglevel=4 random.trust_cpu=on mitigations=off"]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=WALL_SECONDS)
        with tarfile.open(disk, "r:") as archive:
            archive.extractall(found)
        if not os.listdir(found):
            raise OSError("nothing was written to its disk")
        disk.unlink()
        return found
    except (subprocess.SubprocessError, tarfile.TarError, OSError) as error:
        said = console.read_text(errors="replace")[-4000:] if console.exists() else ""
        stderr = getattr(error, "stderr", b"") or b""
        raise AssertionError("%s\n%s\nconsole: %s" % (error, stderr.decode(errors="replace"), said)) from None
