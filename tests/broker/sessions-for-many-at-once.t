#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# However many ask for sessions, a box reports for them once a second at most, and a box without
# leases not at all. Everybody gets the sessions of after the question.
. "$(dirname "$0")/broker.sh"

start_broker --heartbeat 9min --away-after 1h
result=$(PYTHONPATH=$TOP/tests/broker python3 - "$BROKER_SOCKET" <<'PY'
import sys, threading, time
from pool import Api, FakeBox

path = sys.argv[1]
ASKERS, QUESTIONS = 40, 5


class CountingBox(FakeBox):
    """Counts its reports."""
    reports = 0

    def run(self):
        plain = self.api.call

        def call(method, path, body=None):
            self.reports += path.endswith("/sync")
            return plain(method, path, body)
        self.api.call = call
        super().run()


def report_of(box):
    # The first report is answered within the heartbeat: it is on its way once the broker waits with it.
    while not box.reports:
        time.sleep(0.01)


boxes = [CountingBox(path, "box%d" % i, gpus=1) for i in range(6)]
for box in boxes:
    box.start()
for box in boxes:
    report_of(box)
api = Api(path)
for box in boxes[:4]:
    lease = api.call("POST", "/v1/leases", {"request": {"gpus": [{}], "box": box.name}})["lease"]
    box.open_session(lease["id"])
api.call("GET", "/v1/sessions")
before, began, wrong = [box.reports for box in boxes], time.monotonic(), []


def ask():
    mine = Api(path)
    for _ in range(QUESTIONS):
        sessions = mine.call("GET", "/v1/sessions")["sessions"]
        if len(sessions) != 4 or any(session["stale"] for session in sessions):
            wrong.append(sessions)


threads = [threading.Thread(target=ask) for _ in range(ASKERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
elapsed = time.monotonic() - began
reports = [box.reports - count for box, count in zip(boxes, before)]
print("%d questions in %.1f s: reports %s" % (ASKERS * QUESTIONS, elapsed, reports), file=sys.stderr)
print("wrong", len(wrong))
print("busy", max(reports[:4]) <= elapsed + 3)
print("idle", max(reports[4:]))
PY
)
like "$result" '^wrong 0$' "everybody is shown the sessions that run now"
like "$result" '^busy True$' "a box with sessions reports once a second at most"
like "$result" '^idle 0$' "a box without leases does not report for that"
done_testing
