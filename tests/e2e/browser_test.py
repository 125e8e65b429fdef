# SPDX-License-Identifier: BSD-2-Clause
# A headless Chromium, driven through a pipe by the protocol of its developer tools. Needs only Python.
"""with Browser() as browser: browser.open(url); browser.value("document.title")"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LIMIT = 120  # seconds for an answer


class Failed(RuntimeError):
    """The browser failed to carry out a command."""


class Browser:
    def __init__(self, width=1280, height=800):
        self.home = tempfile.mkdtemp(prefix="ptl-browser-")
        self.number, self.buffer, self.session, self.program = 0, b"", None, None
        self.complaints, self.requests = [], []
        self.size = (width, height)

    def __enter__(self):
        out, self.write = os.pipe()
        self.read, into = os.pipe()
        # The browser expects the pipe's ends at descriptors 3 and 4.
        self.program = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{out} 4>&{into}', "sh", CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir=" + self.home,
             "--window-size=%d,%d" % self.size],
            pass_fds=(out, into), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env={**os.environ, "HOME": self.home, "TZ": "UTC", "LC_ALL": "C.UTF-8"})
        os.close(out)
        os.close(into)
        try:
            target = self.ask("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.ask(domain + ".enable")
            self.resize(*self.size)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends all processes of the browser's session."""
        try:
            os.killpg(self.program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.program.wait()
        os.close(self.read)
        os.close(self.write)
        shutil.rmtree(self.home, ignore_errors=True)

    def message(self):
        end = time.monotonic() + LIMIT
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], max(0, end - time.monotonic()))[0]:
                raise Failed("no answer")
            data = os.read(self.read, 1 << 20)
            if not data:
                raise Failed("the browser has ended")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def notice(self, message):
        """Collects errors, dialogs and requests that the page reports."""
        method, about = message.get("method", ""), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(about["args"])[:600])
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append("dialog: " + about["message"])
            self.send("Page.handleJavaScriptDialog", accept=False)
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        return self.number

    def ask(self, method, **parameters):
        number = self.send(method, **parameters)
        while True:
            message = self.message()
            if message.get("id") != number:
                self.notice(message)
            elif "error" in message:
                raise Failed(f"{method}: {message['error']}")
            else:
                return message["result"]

    def value(self, expression):
        got = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise Failed(f"{expression}: {json.dumps(got['exceptionDetails'])[:400]}")
        return got["result"].get("value")

    def until(self, expression):
        end = time.monotonic() + LIMIT
        while not self.value(expression):
            if time.monotonic() > end:
                raise Failed(f"never true: {expression}")
            time.sleep(0.02)

    def resize(self, width, height, scale=1):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def open(self, url):
        """Opens a new document, even if only the part behind # differs; waits until its scripts have run."""
        self.ask("Page.navigate", url="about:blank")
        self.until("document.readyState === 'complete' && location.href === 'about:blank'")
        self.ask("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def frame(self):
        """Waits until earlier changes are drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.frame()

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def click(self, x, y, count=1):
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for i in range(count):
            for kind in ("mousePressed", "mouseReleased"):
                self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=i + 1)
        self.frame()

    def picture(self):
        """Returns the window as a PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
