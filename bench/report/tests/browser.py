# Drives a real browser without a window, over its debugging pipe, with nothing but Python.
#
# Owns: finding and starting Chromium, and the few commands that the tests need. Pages open in a
# fresh profile. Console errors and failed loads are collected. Leaving the `with` block ends the
# browser with all its processes.
#
# SPDX-License-Identifier: MIT

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ANSWER_S = 60


def find() -> str | None:
    named = os.environ.get("TALUS_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    def __init__(self, program: str):
        self.folder = tempfile.mkdtemp(prefix="talus-browser-")
        commands, to_browser = os.pipe()
        from_browser, answers = os.pipe()
        # The browser reads on 3 and writes on 4. The pipes move to higher numbers first, so that
        # none overwrites another.
        reads, writes = (fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (commands, answers))

        def place() -> None:
            os.dup2(reads, 3)
            os.dup2(writes, 4)
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "--no-first-run",
             "--hide-scrollbars", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=place, pass_fds=(3, 4), start_new_session=True)
        for one in (commands, answers, reads, writes):
            os.close(one)
        self.to, self.back = to_browser, from_browser
        self.buffer, self.last, self.errors = b"", 0, []
        self.session = None
        pages = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in pages if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{part}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        try:  # an orderly end first: the browser then ends its own children
            self.session = None
            self.call("Browser.close")
            self.process.wait(ANSWER_S)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, until: float) -> dict:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self.back, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser gave no answer")
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\0")
        found = json.loads(line)
        self.note(found)
        return found

    def note(self, found: dict) -> None:
        method, given = found.get("method"), found.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(given["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.errors.append(json.dumps(given["args"])[:500])
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.errors.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = given["request"]["url"]
            if not url.startswith(("file:", "data:", "about:")):
                self.errors.append(f"asked the network for {url}")

    def call(self, method: str, **given) -> dict:
        self.last += 1
        message = {"id": self.last, "method": method, "params": given}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + ANSWER_S
        while True:
            answer = self.message(until)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def show(self, page: Path, width: int = 1280, theme: str = "light",
             has_script: bool = True) -> None:
        """Opens the file and waits for it. Errors of former pages are dropped."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media="screen",
                  features=[{"name": "prefers-color-scheme", "value": theme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not has_script)
        self.call("Page.navigate", url="about:blank")
        self.errors.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        until = time.monotonic() + ANSWER_S
        while self.run("document.readyState") != "complete" or self.run(
                "location.protocol") != "file:":
            if time.monotonic() > until:
                raise RuntimeError(f"{page} did not load")
            time.sleep(0.05)

    def run(self, script: str):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def picture(self, path: Path, selector: str | None = None) -> None:
        """A screenshot of the whole page, or of one element."""
        box = self.run(
            "(() => { const box = (" + (f"document.querySelector({json.dumps(selector)})"
                                        if selector else "document.documentElement")
            + ").getBoundingClientRect(); return {x: box.x + scrollX, y: box.y + scrollY,"
            " width: box.width, height: box.height, scale: 1}; })()")
        data = self.call("Page.captureScreenshot", clip=box, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def printed(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
