#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""replicated_users.py SOCKET...: users of replicated brokers take and release GPUs of a pool of boxes without GPUs, and what
they were answered is compared with what the brokers say later.

Reads orders from standard input, and answers each with a line:
    count     how many grants and releases were answered
    settle    users pause, with what they have; then each answered grant that was not given back must be a lease with that GPU.
              The answer has the longest time without an answer since users went on
    go        users go on
Writes "violation: ..." to standard error for whatever does not hold. Ends with its input."""
import random
import sys
import threading
import time

from pool import AnyApi, FakeBox, Refused

SOCKETS = sys.argv[1:]
BOXES, GPUS, USERS, KEEP = 2, 16, 6, 3


def violation(text):
    print("violation: " + text, file=sys.stderr, flush=True)


class Journal:
    def __init__(self):
        self.lock = threading.Lock()
        self.held = {}  # GPU -> lease, from an answered grant until a release is asked for
        self.answers, self.last, self.longest = 0, time.monotonic(), 0.0

    def answered(self):
        now = time.monotonic()
        self.longest = max(self.longest, now - self.last)
        self.answers, self.last = self.answers + 1, now

    def granted(self, lease, gpu):
        with self.lock:
            self.answered()
            if self.held.get(gpu, lease) != lease:
                violation("GPU %s is granted to %s and %s" % (gpu, self.held[gpu], lease))
            self.held[gpu] = lease

    def releases(self, lease):
        with self.lock:
            self.held = {gpu: holder for gpu, holder in self.held.items() if holder != lease}

    def released(self):
        with self.lock:
            self.answered()

    def count(self):
        with self.lock:
            return "answers=%d" % self.answers

    def pause(self):
        """The longest time without an answer since users went on."""
        with self.lock:
            return self.longest

    def go_on(self):
        with self.lock:
            self.longest, self.last = 0.0, time.monotonic()


class User(threading.Thread):
    def __init__(self, number, journal, running):
        super().__init__(daemon=True)
        self.number, self.journal, self.running = number, journal, running
        self.api, self.has, self.idle = AnyApi(SOCKETS), [], threading.Event()

    def take(self, turn):
        try:
            answer = self.api.insist("POST", "/v1/leases", {
                "key": "%d/%d" % (self.number, turn), "owner": 1000, "lifetime": 3600, "request": {"gpus": [{"count": 1}]}})
        except Refused as error:
            if error.code != "busy":
                violation("refused: %s" % error)
            return
        lease = answer["lease"]
        self.journal.granted(lease["id"], lease["gpus"][0]["gpu"])
        self.has.append(lease["id"])

    def give(self):
        lease = self.has.pop(random.randrange(len(self.has)))
        self.journal.releases(lease)
        try:
            self.api.insist("DELETE", "/v1/leases/" + lease)
        except Refused as error:
            if error.code not in ("ended", "not-found"):
                violation("release refused: %s" % error)
        self.journal.released()

    def run(self):
        turn = 0
        while True:
            if not self.running.is_set():
                self.idle.set()
                self.running.wait()
                self.idle.clear()
            turn += 1
            time.sleep(0.01)
            if len(self.has) >= KEEP:
                self.give()
            else:
                self.take(turn)


def compare(journal):
    """What users have were the brokers' words: the leader must say the same."""
    leases = AnyApi(SOCKETS, 10).insist("GET", "/v1/leases")["leases"]
    there = {lease["id"]: lease for lease in leases}
    for gpu, lease in journal.held.items():
        known = there.get(lease)
        if not known or known["state"] not in ("granted", "lost"):
            violation("lease %s of GPU %s was granted and is %s" % (lease, gpu, known and known["state"]))
        elif gpu not in [one["gpu"] for one in known["gpus"]]:
            violation("lease %s is not of GPU %s" % (lease, gpu))
    return "compared=%d longest=%.1f" % (len(journal.held), journal.pause())


def main():
    boxes = [FakeBox(SOCKETS[0], "box%d" % i, GPUS) for i in range(BOXES)]
    for box in boxes:
        box.api = AnyApi(SOCKETS, 4)
        box.start()
    for box in boxes:
        box.ready.wait()
    journal, running = Journal(), threading.Event()
    running.set()
    users = [User(number, journal, running) for number in range(USERS)]
    for user in users:
        user.start()
    print("ready", flush=True)
    for order in sys.stdin:
        order = order.strip()
        if order == "count":
            print(journal.count(), flush=True)
        elif order == "settle":
            running.clear()
            for user in users:
                user.idle.wait()
            print(compare(journal), flush=True)
        elif order == "go":
            journal.go_on()
            running.set()
            print("gone on", flush=True)


main()
