"""Chromium without a network, controlled by the DevTools protocol on a pair of pipes."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
]
_NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND"
_MESSAGES_IN, _MESSAGES_OUT = 3, 4  # file descriptors of --remote-debugging-pipe


class BrowserHasEndedError(Exception):
    """Chromium closed its pipe."""


class Page:
    """A tab of the browser.

    Attributes
    ----------
    errors : list of str
        Errors and warnings of console and browser.
    requests : list of str
        Requested addresses.
    """

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._last_id = 0
        self._unread = b""
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []

    @classmethod
    def open(cls, send: int, receive: int) -> Self:
        page = cls(send, receive)
        target = page.call("Target.createTarget", url="about:blank")["targetId"]
        page._session = page.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        return page

    def show(
        self,
        path: Path,
        *,
        width: int,
        height: int = 900,
        scheme: str = "light",
        scripts: bool = True,
    ) -> None:
        """Load a file in a window of `width` CSS pixels, in the light or dark scheme."""
        self.errors.clear()
        self.requests.clear()
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setEmulatedMedia", features=media)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call("Page.navigate", url=path.resolve().as_uri())
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        response = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in response, response["exceptionDetails"]
        return response["result"].get("value")

    def call(self, method: str, **params: Any) -> Any:
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while (response := self._message()).get("id") != self._last_id:
            pass
        assert "error" not in response, response["error"]
        return response["result"]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            received = os.read(self._receive, 1 << 20)
            if not received:
                raise BrowserHasEndedError
            self._unread += received
        raw, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        self._record(message.get("method"), message.get("params", {}))
        return message

    def _record(self, method: str | None, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning"}:
            self.errors.append(str(params["args"]))


@contextmanager
def chromium() -> Iterator[Page]:
    """Start Chromium and return a tab; the process ends with the block."""
    assert CHROMIUM is not None
    browser_in, send = os.pipe()
    receive, browser_out = os.pipe()

    def set_descriptors() -> None:
        os.dup2(browser_in, 100)
        os.dup2(browser_out, _MESSAGES_OUT)
        os.dup2(100, _MESSAGES_IN)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, *_FLAGS, _NO_NETWORK, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(
            command,
            preexec_fn=set_descriptors,
            pass_fds=(_MESSAGES_IN, _MESSAGES_OUT),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(browser_in)
        os.close(browser_out)
        try:
            yield Page.open(send, receive)
        finally:
            process.terminate()
            process.wait(timeout=20)
            os.close(send)
            os.close(receive)
