#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many sessions at once whose connections cut_frames.py cuts: what programs find must be what they find undisturbed.

    cut_campaign.py LANES CUTS SEED BOX BOX <JOBS

JOBS are lines of the shell, in two groups with an empty line in between: half of the LANES run the first group, one after the
other and again, the others the second, until each job has been run and the cutter is complete. The jobs find the first box
in RGPU_BOXES, both in BOTH, and a name of their own in JOB. CAMPAIGN_SECONDS of the environment is when no more jobs begin, and
JOB_SECONDS when one hangs. With VERBS, a library (tests/rdma/preload), queue pairs are cut as well, CUTS times; it is
preloaded here and, with the same file CUT_VERBS, into the boxes; with DIRECTLY, nothing else is. Prints the table of the cuts and what went wrong; status 1 if
anything did."""
import itertools
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

from frames import EVENTS, REQUESTS

HERE = os.path.dirname(os.path.abspath(__file__))
JOB_SECONDS = int(os.environ.get("JOB_SECONDS", "240"))
OFTEN = int(os.environ.get("OFTEN", "20"))
END = time.monotonic() + int(os.environ.get("CAMPAIGN_SECONDS", "100000"))


OF_VERBS = ["payload", "credit", "keepalive", "READ", "WRITE", "WRITE of a flag", "READ of a flag"]


class Verbs:
    """The table of cut_verbs.c."""
    ROWS, EVENTS, OTHERS = 4096, 2048, 3072

    def __init__(self, path, cuts):
        self.path, self.cuts = path, cuts
        with open(path, "r+b") as file:
            file.write(struct.pack("<II", 0, cuts) + bytes(16 * self.ROWS))

    def name(self, row):
        if row >= self.OTHERS:
            worker, kind = divmod(row - self.OTHERS, len(OF_VERBS))
            return "%s of the %s" % (OF_VERBS[kind], ("client", "box")[worker])
        return "event " + EVENTS.get(row - self.EVENTS, "?") if row >= self.EVENTS else "request " + REQUESTS.get(row, "?")

    def rows(self):
        with open(self.path, "rb") as file:
            numbers = struct.unpack("<%dI" % (2 + 4 * self.ROWS), file.read())
        found = [numbers[at:at + 4] for at in range(2, len(numbers), 4)]
        return [["verbs: " + self.name(row), *counts] for row, counts in enumerate(found) if counts[0]]

    def complete(self):
        rows = self.rows()
        return sum(sum(row[2:]) for row in rows) >= self.cuts and all(min(row[2:]) for row in rows if row[1] >= OFTEN)


class Campaign:
    def __init__(self, lanes, cuts, seed, boxes, groups):
        self.boxes, self.lanes, self.groups = boxes, lanes, groups
        self.turns = [itertools.cycle(group) for group in groups]
        self.undisturbed = {}
        self.unrun = {job for group in groups for job in group}
        self.runs, self.wrong = 0, []
        self.complete = threading.Event()
        self.lock = threading.Lock()
        self.names = itertools.count()
        self.cutter = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "cut_frames.py"), seed, cuts, *boxes],
                                       stdout=subprocess.PIPE, text=True)
        self.behind = ["127.0.0.1:" + port for port in self.cutter.stdout.readline().split()[1:]]
        self.table = None
        self.verbs = Verbs(os.environ["CUT_VERBS"], int(cuts)) if os.environ.get("VERBS") else None
        if os.environ.get("DIRECTLY"):
            self.behind = boxes
            self.complete.set()

    def is_over(self):
        done = self.complete.is_set() and not self.unrun and (not self.verbs or self.verbs.complete())
        return done or time.monotonic() > END or len(self.wrong) > 20 or self.cutter.poll() is not None

    def listen(self):
        for line in self.cutter.stdout:
            if line == "complete\n":
                self.complete.set()
            elif line.startswith("table "):
                self.table = json.loads(line[6:])

    def run(self, job, boxes, verbs=None):
        """Returns what the job found: its status, and the lines of its checks."""
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(["bash", "-c", job], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       start_new_session=True,
                                       env=dict(os.environ, LD_PRELOAD=os.environ["VERBS"] if verbs else "", RGPU_BOXES=boxes[0], BOTH=",".join(boxes), JOB=str(next(self.names))))
            try:
                status = process.wait(JOB_SECONDS)
            except subprocess.TimeoutExpired:
                status = "hangs"
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            output.seek(0)
            text = output.read()
        checks = sorted(line for line in text.splitlines() if line.startswith(("ok ", "not ok ", "1..")))
        return (status, checks), text

    def lane(self, number):
        while True:
            with self.lock:
                if self.is_over():
                    return
                job = next(self.turns[number % 2])
            found, text = self.run(job, self.behind, self.verbs)
            with self.lock:
                self.runs += 1
                self.unrun.discard(job)
                if found != self.undisturbed[job]:
                    self.wrong.append("%s: status %s\n%s" % (job, found[0], text[-2000:]))

    def prepare(self, jobs):
        for job in jobs:
            found, text = self.run(job, self.boxes)
            self.undisturbed[job] = found
            if found[0] != 0:
                self.wrong.append("undisturbed: %s: status %s\n%s" % (job, found[0], text[-2000:]))

    def all(self):
        listener = threading.Thread(target=self.listen)
        listener.start()
        at_once = [threading.Thread(target=self.prepare, args=(group,)) for group in self.groups]
        for thread in at_once:
            thread.start()
        for thread in at_once:
            thread.join()
        at_once = [threading.Thread(target=self.lane, args=(number,)) for number in range(self.lanes)]
        for thread in at_once:
            thread.start()
        for thread in at_once:
            thread.join()
        self.cutter.terminate()
        listener.join()

    def report(self):
        if self.table is None:
            sys.exit("the cutter ended by itself")
        self.table += self.verbs.rows() if self.verbs else []
        print("%-48s %9s %7s %7s %7s" % ("message", "messages", "before", "inside", "after"))
        for row in self.table:
            print("%-48s %9d %7d %7d %7d" % tuple(row))
        sums = [sum(column) for column in list(zip(*self.table))[1:]]
        print("%-48s %9d %7d %7d %7d" % ("all %d kinds" % len(self.table), *sums))
        empty = [row[0] for row in self.table if not all(row[2:])]
        print("cuts %d, runs of programs %d, wrong %d, kinds without a cut in one of the places: %d %s" % (
            sum(sums[1:]), self.runs, len(self.wrong), len(empty), " ".join("(%s)" % kind for kind in empty)))
        for text in self.wrong:
            print("wrong: " + text)


campaign = Campaign(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:],
                    [group.split("\n") for group in sys.stdin.read().strip("\n").split("\n\n")])
campaign.all()
campaign.report()
sys.exit(bool(campaign.wrong) or not campaign.complete.is_set())
