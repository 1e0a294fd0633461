#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens a page in headless Chromium and waits for texts in it, one after the other:

    browse.py PROFILE-DIRECTORY URL STEP...

A step is a text, or `js:EXPRESSION` that must become true in the page, or `width:PIXELS` of the window, `scheme:dark`, `key:NAME`,
or `shot:FILE` for a picture of the page, `go:URL` for another page, or `resolve:NAME=ADDRESS`
for the browser's name service. Says "seen STEP" for each, and at the end prints the page. Status 1 where one does not appear;
what the browser itself complained of is then on standard error. A browser that does not come up
(a first start from a cold disk may take long, and now and then one dies) is started once more.
"""
import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time

TIMEOUT = int(os.environ.get("BROWSE_SECONDS", "60"))


class Refused(Exception):
    """The browser answered with an error."""


class Browser:
    def __init__(self, profile, url, names):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def wire():
            # The browser takes commands on descriptor 3 and answers on 4.
            high = os.dup(to_browser), os.dup(from_browser)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.complaints = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--host-resolver-rules=" + ",".join("MAP %s %s" % name for name in names),
             "--user-data-dir=" + profile, "--remote-debugging-pipe", "about:blank"],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL,
            env=dict(os.environ, TMPDIR=os.path.dirname(profile)),
            stdout=subprocess.DEVNULL, stderr=self.complaints)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.session = None
        try:
            self.open(url)
        except Exception:
            self.complain()
            self.close()
            raise

    def open(self, url):
        page, deadline = None, time.monotonic() + TIMEOUT
        while not page:
            if time.monotonic() > deadline:
                raise TimeoutError("the browser has no page")
            targets = self.call("Target.getTargets")["targetInfos"]
            page = next((target for target in targets if target["type"] == "page"), None)
        self.session = self.call("Target.attachToTarget",
                                 {"targetId": page["targetId"], "flatten": True})["sessionId"]
        self.call("Page.navigate", {"url": url})

    def call(self, method, parameters=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters or {}}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            text, separator, rest = self.buffer.partition(b"\0")
            if separator:
                self.buffer = rest
                answer = json.loads(text)
                if answer.get("id") != self.number:
                    continue
                if "error" in answer:
                    raise Refused(method + ": " + answer["error"]["message"])
                return answer["result"]
            timeout = max(0, deadline - time.monotonic())
            if not select.select([self.read_end], [], [], timeout)[0]:
                raise TimeoutError(method)
            more = os.read(self.read_end, 1 << 20)
            if not more:
                raise ConnectionError("the browser has gone")
            self.buffer += more

    def page(self):
        """What the page shows now; nothing while it is between two documents."""
        try:
            answer = self.call("Runtime.evaluate", {
                "expression": "document.body ? document.body.cloneNode(true).outerHTML : ''"})
        except Refused:
            return ""
        return answer["result"].get("value", "").partition("<script>")[0]

    def holds(self, expression):
        try:
            answer = self.call("Runtime.evaluate", {"expression": expression})
        except Refused:
            return False
        return answer["result"].get("value") is True

    def take(self, step):
        """Whether what the step waits for is there."""
        kind, colon, value = step.partition(":")
        if kind == "js" and colon:
            return self.holds(value)
        if kind == "go" and colon:
            self.call("Page.navigate", {"url": value})
            return True
        if kind == "width" and colon:
            self.call("Emulation.setDeviceMetricsOverride", {
                "width": int(value), "height": 900, "deviceScaleFactor": 1, "mobile": False})
            return True
        if kind == "scheme" and colon:
            self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": value}]})
            return True
        if kind == "key" and colon:
            text = {"text": value} if len(value) == 1 else {"text": "\r"} if value == "Enter" else {}
            for stage in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", {"type": stage, "key": value, "code": value if len(value) > 1 else "",
                                                     "windowsVirtualKeyCode": {"Enter": 13, "Escape": 27}.get(value, 0),
                                                     **(text if stage == "keyDown" else {})})
            return True
        if kind == "shot" and colon:
            with open(value, "wb") as file:
                file.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
            return True
        return step in self.page()

    def complain(self):
        self.complaints.seek(0)
        sys.stderr.write(self.complaints.read().decode(errors="replace"))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)


def start(profile, url, names):
    try:
        return Browser(profile + ".1", url, names)
    except (OSError, Refused) as error:
        print("browse: %s: once more" % error, file=sys.stderr)
        return Browser(profile + ".2", url, names)


def main():
    names = [tuple(step[8:].split("=")) for step in sys.argv[3:] if step.startswith("resolve:")]
    browser = start(*sys.argv[1:3], names)
    try:
        for text in [step for step in sys.argv[3:] if not step.startswith("resolve:")]:
            deadline = time.monotonic() + TIMEOUT
            while not browser.take(text):
                if time.monotonic() > deadline:
                    print("missing " + text, browser.page(), sep="\n", file=sys.stderr)
                    browser.complain()
                    return 1
                time.sleep(0.1)
            print("seen " + text, flush=True)
        print(browser.page())
        return 0
    finally:
        browser.close()


sys.exit(main())
