"""Drives a headless Chromium by its pipe: no network, no other package. page.sh and the like use it.

    with Browser() as b:
        b.open("/tmp/page.html")
        print(b.run("document.title"), b.errors)

Messages are JSON with a NUL behind each: the browser reads them from descriptor 3 and writes to 4.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome")


def found():
    """Returns the path of a browser, or None."""
    return os.environ.get("FXT_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, width=1280, height=800, dark=False):
        self.number, self.errors, self.buffer = 0, [], b""
        self.home = tempfile.mkdtemp(prefix="fxt-browser-")
        in_read, self.to = os.pipe()
        self.back, out_write = os.pipe()

        # What is passed on may have the numbers that it is to get, so it goes out of their way first.
        def place():
            a, b = os.dup(in_read), os.dup(out_write)
            low = max(a, b, 10)
            os.dup2(a, low + 1)
            os.dup2(b, low + 2)
            os.dup2(low + 1, 3)
            os.dup2(low + 2, 4)

        self.process = subprocess.Popen(
            [found(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--no-first-run", "--user-data-dir=" + self.home, "--hide-scrollbars",
             "--disable-extensions", "--disable-background-networking", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=place, close_fds=False)
        os.close(in_read)
        os.close(out_write)
        self.session = None
        target = next(one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.ask(domain + ".enable")
        self.size(width, height)
        self.dark(dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        shutil.rmtree(self.home, ignore_errors=True)

    def read(self):
        while b"\0" not in self.buffer:
            more = os.read(self.back, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def note(self, message):
        """Keeps what the console says is wrong, and each request that is none of a file."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(params["args"])[:600])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "about:", "blob:")):
                self.errors.append("it asked for " + url[:200])

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(method + ": " + answer["error"]["message"])
                return answer["result"]
            self.note(answer)

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=False)

    def dark(self, dark):
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path, fragment=""):
        """Opens the page, and waits until it says that it is ready."""
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url="file://" + os.path.abspath(path) + fragment)
        self.run("new Promise((done) => { const look = () => (document.readyState === 'complete' ? done(1) "
                 ": setTimeout(look, 5)); look(); })")
        self.run("window.fxt.ready")

    def run(self, script):
        """Runs a script in the page, waits for its promise, and returns its value."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:1000])
        return answer["result"].get("value")

    def key(self, key, text=None):
        for kind in "keyDown", "keyUp":
            self.ask("Input.dispatchKeyEvent", type=kind, key=key,
                     **({"text": text or key} if kind == "keyDown" and len(key) == 1 else {}))

    def click(self, x, y):
        for kind in "mousePressed", "mouseReleased":
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def pdf(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))
