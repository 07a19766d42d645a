"""A headless Chromium that tests talk to over two pipes: pages, what they say on the console, axe-core."""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

AXE = Path(__file__).parent / "client/node_modules/axe-core/axe.min.js"
QUIET_MS = 20_000
"""A page that asks for anything is waited for so long, and looked at as it is then."""
PATIENCE_S = 60
LOADED = f"""new Promise((done) => {{
  const begun = performance.now();
  const look = () => {{
    const busy = document.readyState !== 'complete' || document.querySelector('[aria-busy]')
      || [...document.querySelectorAll('.over-time .panels')].some((one) => !one.childElementCount);
    if (busy && performance.now() - begun < {QUIET_MS}) setTimeout(look, 20);
    else requestAnimationFrame(() => done(!busy));
  }};
  look();
}})"""
WRONG = """axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}).then(
  (found) => found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) =>
    node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')}`))"""


class Chromium:
    """One browser with one page."""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="narrows-chromium-")
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        words = [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--remote-debugging-pipe", f"--user-data-dir={self._folder.name}", "about:blank",
        ]  # fmt: skip
        high = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (theirs_in, theirs_out)]

        def at_3_and_4() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            words,
            preexec_fn=at_3_and_4,
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in (theirs_in, theirs_out, *high):
            os.close(each)
        self._read, self._number, self._session = b"", 0, None
        self.said: list[str] = []
        """What pages said on the console, errors of loading among it."""
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._in)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol and its answer; what is said meanwhile is noted."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") in (
                "Runtime.consoleAPICalled",
                "Runtime.exceptionThrown",
                "Log.entryAdded",
            ):
                self.said.append(json.dumps(answer["params"])[:600])

    def _message(self) -> Any:
        while b"\0" not in self._read:
            assert select.select([self._in], [], [], PATIENCE_S)[0], "chromium does not answer"
            piece = os.read(self._in, 1 << 20)
            assert piece, "chromium is gone"
            self._read += piece
        one, _, self._read = self._read.partition(b"\0")
        return json.loads(one)

    def look(self, width: int, theme: str, height: int = 900) -> None:
        """The size of the window, and whether the system is dark or light."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": theme}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Go there, and wait until all is shown."""
        self.call("Page.navigate", url=address)
        assert self.value(LOADED), f"{address} is not shown within {QUIET_MS / 1000:g} s"

    def value(self, script: str) -> Any:
        """What a script comes to on the page."""
        asked = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in asked, asked["exceptionDetails"]
        return asked["result"].get("value")

    def violations(self) -> list[str]:
        """What axe-core finds against levels A and AA of the WCAG."""
        if self.value("typeof axe") == "undefined":
            self.value(AXE.read_text(encoding="utf-8") + ";0")
        found: list[str] = self.value(WRONG)
        return found
