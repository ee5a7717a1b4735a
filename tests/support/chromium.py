# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests of pages. Its DevTools protocol over a pipe needs no port and no library.

Chromium reads commands from descriptor 3 and writes answers to descriptor 4 (`--remote-debugging-pipe`). Commands and
answers are JSON objects that end with a zero byte. Without Chromium, tests that need it are skipped (Debian: `apt-get
install chromium`).
"""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
KEYS = {
    "ArrowLeft": 37, "ArrowRight": 39, " ": 32, "Home": 36, "End": 35, "Escape": 27, "l": 76, "n": 78, "f": 70,
}  # fmt: skip

READY = "window.leowarp || document.querySelector('.failed')"
"""A condition in JavaScript. It is true once a page of `leowarp view` has drawn itself, or reports why it cannot."""


class Browser:
    """A Chromium process."""

    def __init__(self, profile, size):
        to_it, own_end = os.pipe()
        from_it, its_end = os.pipe()
        # Chromium reads and writes at the descriptors 3 and 4, and only a shell can assign these numbers on every
        # system.
        command = [
            "bash", "-c", f'exec "$@" 3<&{to_it} 4>&{its_end}', "chromium", PROGRAM, "--headless=new",
            "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
            "--hide-scrollbars", "--force-color-profile=srgb", f"--user-data-dir={profile}",
            f"--window-size={size[0]},{size[1]}",
            # Without hinting, the width of a text depends only on its font.
            "--font-render-hinting=none",
            # No host name can be resolved.
            "--host-resolver-rules=MAP * ~NOTFOUND", "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command, pass_fds=(to_it, its_end), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_it)
        os.close(its_end)
        self._out, self._in = os.fdopen(own_end, "wb"), os.fdopen(from_it, "rb")
        self._number, self._rest = 0, b""
        self.events = []
        self._targets = []

    def send(self, method, session=None, **params):
        """Send a command and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                return answer["result"]
            self.events.append(answer)

    def open(self, url, size=(1280, 900), dark=False, ready=READY):
        """Open the page at an address, wait until the condition `ready` is true in it, and return the page."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._targets.append(target)
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Tab(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.send(f"{domain}.enable")
        page.resize(*size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.send("Emulation.setEmulatedMedia", features=[scheme])
        page.go(url, ready)
        return page

    def close_tabs(self):
        """Close all pages that were opened, and forget their events."""
        for target in self._targets:
            self.send("Target.closeTarget", targetId=target)
        self._targets, self.events = [], []

    def close(self):
        """End the browser's process, and close its pipes."""
        self._out.close()
        self._in.close()
        self.process.wait()

    def _read(self):
        while b"\0" not in self._rest:
            # up to 1 MiB, because a screenshot is a single message
            more = self._in.read1(1 << 20)
            assert more, "Chromium has ended"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)


class Tab:
    """A page in the browser."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def go(self, url, ready=READY):
        """Load an address, and wait until the condition `ready` is true."""
        self.send("Page.navigate", url=url)
        self.wait(f"document.readyState === 'complete' && ({ready})")

    def resize(self, width, height, scale=1):
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def run(self, expression):
        """Return the value of a JavaScript expression. If this value is a promise, return the promise's value."""
        done = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, condition):
        """Check an expression at each frame until it is true."""
        while True:
            # If the page navigates during this query, the query gets no answer and is repeated.
            found = self.browser.send(
                "Runtime.evaluate", self.session, awaitPromise=True, returnByValue=True,
                expression=f"new Promise((done) => setTimeout(() => done(Boolean({condition})), 20))",
            )  # fmt: skip
            if found.get("result", {}).get("value") is True:
                return

    def frame(self):
        """Return the page's sandboxed frame, which runs in a process of its own."""
        self.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        while not (attached := self._events("Target.attachedToTarget")):
            self.run("new Promise((done) => setTimeout(done, 20))")
        found = Tab(self.browser, attached[-1]["sessionId"])
        for domain in ("Runtime", "Log"):
            found.send(f"{domain}.enable")
        return found

    def frames(self, count=2):
        """Wait until `count` frames have been drawn."""
        self.run(
            f"new Promise((done) => {{ let left = {count}; const next = () => left-- > 0 ? requestAnimationFrame(next) "
            ": done(true); next(); })"
        )

    def key(self, key, shift=False):
        """Type a key."""
        common = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper())), "modifiers": 8 * shift}
        self.send("Input.dispatchKeyEvent", type="keyDown", **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)
        self.frames()

    def click(self, x, y):
        """Click at a point of the window."""
        self.drag((x, y), (x, y))

    def drag(self, begin, end):
        """Press the mouse button at one point, and release it at another."""
        for kind, (x, y) in (("mouseMoved", begin), ("mousePressed", begin), ("mouseMoved", end),
                             ("mouseReleased", end)):  # fmt: skip
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
        self.frames()

    def box(self, selector, number=0):
        """Scroll an element into view, and return its left, top, width and height in the window."""
        return self.run(
            f"(() => {{ const e = document.querySelectorAll({json.dumps(selector)})[{number}]; "
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); "
            "return [b.left, b.top, b.width, b.height]; })()"
        )

    def click_on(self, selector, number=0):
        """Click in the middle of an element."""
        left, top, width, height = self.box(selector, number)
        self.click(left + width / 2, top + height / 2)

    def text(self, selector):
        """Return the text of an element."""
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def picture(self, path, whole=False):
        """Write the visible page as a PNG."""
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def _events(self, method):
        return [
            event["params"]
            for event in self.browser.events
            if event.get("method") == method and event.get("sessionId") == self.session
        ]

    @property
    def requests(self):
        """Return the addresses that the page has requested so far, also blocked ones."""
        self.frames()
        return [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]

    @property
    def forbidden(self):
        """Return the addresses that the page's own policy blocked."""
        blocked = {e["requestId"] for e in self._events("Network.loadingFailed") if e.get("blockedReason") == "csp"}
        asked = self._events("Network.requestWillBeSent")
        return [event["request"]["url"] for event in asked if event["requestId"] in blocked]

    @property
    def complaints(self):
        """Return the errors in the page: exceptions, and requests that its policy forbade."""
        self.frames()
        thrown = [event["exceptionDetails"] for event in self._events("Runtime.exceptionThrown")]
        return thrown + [e["entry"]["text"] for e in self._events("Log.entryAdded") if e["entry"]["level"] == "error"]


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A headless Chromium."""
    if PROGRAM is None:
        pytest.skip("no Chromium here (Debian: apt-get install --no-install-recommends chromium)")
    found = Browser(tmp_path_factory.mktemp("chromium"), (1280, 900))
    yield found
    found.close()


@pytest.fixture
def browser(chromium):
    """A Chromium without the tabs of earlier tests, because a page in motion uses the processor as long as it is
    open."""
    yield chromium
    chromium.close_tabs()
