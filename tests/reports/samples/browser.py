"""A real Chromium, driven over the DevTools protocol on a pair of pipes; it cannot reach a network."""

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
_NOWHERE = "--host-resolver-rules=MAP * ~NOTFOUND"
_MESSAGES_IN, _MESSAGES_OUT = 3, 4  # the file descriptors that --remote-debugging-pipe speaks on


class BrowserHasEndedError(Exception):
    """Chromium closed its pipe."""


class Page:
    """One tab: `errors` holds what the console and the browser complained of, `requests` every address asked for."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._last_id = 0
        self._unread = b""
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []

    @classmethod
    def opened(cls, send: int, receive: int) -> Self:
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
        """The value of a JavaScript expression."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def call(self, method: str, **params: Any) -> Any:
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != self._last_id:
            pass
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            received = os.read(self._receive, 1 << 20)
            if not received:
                raise BrowserHasEndedError
            self._unread += received
        raw, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, params: dict[str, Any]) -> None:
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
    """A tab of a Chromium of its own, ended when the block ends."""
    assert CHROMIUM is not None
    from_us, to_browser = os.pipe()
    from_browser, to_us = os.pipe()

    def hand_over() -> None:
        os.dup2(from_us, 100)
        os.dup2(to_us, _MESSAGES_OUT)
        os.dup2(100, _MESSAGES_IN)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, *_FLAGS, _NOWHERE, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(
            command,
            preexec_fn=hand_over,
            pass_fds=(_MESSAGES_IN, _MESSAGES_OUT),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        try:
            yield Page.opened(to_browser, from_browser)
        finally:
            process.terminate()
            process.wait(timeout=20)
            os.close(to_browser)
            os.close(from_browser)
