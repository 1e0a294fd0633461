#!/usr/bin/env python3
"""Opens a page in headless Chromium and waits for texts in it, one after the other:

    browse.py PROFILE-DIRECTORY URL TEXT...

Says "seen TEXT" for each, and at the end prints the page. Status 1 where one does not appear.
"""
import json
import os
import select
import subprocess
import sys
import time

PATIENCE = 30


class Browser:
    def __init__(self, profile, url):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def wire():
            # The browser takes commands on descriptor 3 and answers on 4.
            high = os.dup(to_browser), os.dup(from_browser)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--user-data-dir=" + profile, "--remote-debugging-pipe", url],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.session = None
        page, deadline = None, time.monotonic() + PATIENCE
        while not page and time.monotonic() < deadline:
            targets = self.call("Target.getTargets")["targetInfos"]
            page = next((target for target in targets if target["type"] == "page"), None)
        self.session = self.call("Target.attachToTarget",
                                 {"targetId": page["targetId"], "flatten": True})["sessionId"]

    def call(self, method, parameters=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters or {}}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            text, separator, rest = self.buffer.partition(b"\0")
            if separator:
                self.buffer = rest
                answer = json.loads(text)
                if answer.get("id") == self.number:
                    return answer["result"]
                continue
            if not select.select([self.read_end], [], [], deadline - time.monotonic())[0]:
                raise TimeoutError(method)
            self.buffer += os.read(self.read_end, 1 << 20)

    def page(self):
        return self.call("Runtime.evaluate", {
            "expression": "document.body.cloneNode(true).outerHTML"})["result"]["value"]

    def close(self):
        self.process.kill()
        self.process.wait()


def main():
    browser = Browser(*sys.argv[1:3])
    try:
        for text in sys.argv[3:]:
            deadline = time.monotonic() + PATIENCE
            while text not in browser.page().partition("<script>")[0]:
                if time.monotonic() > deadline:
                    print("missing " + text, browser.page(), sep="\n")
                    return 1
                time.sleep(0.1)
            print("seen " + text, flush=True)
        print(browser.page().partition("<script>")[0])
        return 0
    finally:
        browser.close()


sys.exit(main())
