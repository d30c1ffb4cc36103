"""A page in a headless Chromium, driven over a pipe (Chrome DevTools Protocol, --remote-debugging-pipe)."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

import pytest

NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "chrome")


class Page:
    """Use with `with`. `violations` are what the page's policy has refused, and errors of its script."""

    def __init__(self, path, width=1280, height=900, dark=False, script=True):
        found = next((shutil.which(name) for name in NAMES if shutil.which(name)), None)
        if not found:
            pytest.skip("no Chromium here")
        self.folder = tempfile.mkdtemp(prefix="browser")
        read_end, self.out = os.pipe()
        self.into, write_end = os.pipe()
        command = [found, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--user-data-dir=" + self.folder, "--remote-debugging-pipe", "about:blank"]

        def move():
            # As the protocol wants it: read from 3, written to 4.
            one, other = os.dup(read_end), os.dup(write_end)
            os.dup2(one, 3)
            os.dup2(other, 4)

        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=move, pass_fds=(3, 4), env={**os.environ, "HOME": self.folder})
        os.close(read_end)
        os.close(write_end)
        self.pending = [b""]  # Messages; the last is not at its end.
        self.count, self.session, self.events, self.violations = 0, None, [], []
        try:
            self._open(path, width, height, dark, script)
        except BaseException:
            self.close()
            raise

    def _open(self, path, width, height, dark, script):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()

    def _next(self):
        while len(self.pending) < 2:
            part = os.read(self.into, 1 << 20)
            assert part, "the browser has ended"
            head, *more = part.split(b"\0")
            self.pending[-1] += head
            self.pending += more
        message = json.loads(self.pending.pop(0))
        if "method" in message:
            self.events.append(message)
            if message["method"] in ("Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                self.violations.append(json.dumps(message["params"]))
        return message

    def call(self, method, **parameters):
        self.count += 1
        number, message = self.count, {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "Escape": 27}.get(key, 0))

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.into)
        os.close(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
