# SPDX-License-Identifier: BSD-3-Clause
"""Takes a program with so many MiB off the GPU and brings it back: suspend_and_resume.py BUILD MIB

Where lent_box.py's box is (STUDY_LENT_PORT) by rgpuctl, as an administrator does it; without one by the driver's own checkpoint of the
process. What the program had on the GPU is looked at afterwards."""
import ctypes
import json
import os
import subprocess
import sys
import time

from with_budget import directory_of


def figure(name, x, seconds):
    print(json.dumps({"figure": name, "x": x, "value": seconds * 1e3, "unit": "ms"}), flush=True)


def timed(*steps):
    start = time.perf_counter()
    for step in steps:
        step()
    return time.perf_counter() - start


class OfTheDriver:
    """The driver's calls, each for the whole process."""

    def __init__(self, pid):
        self.pid, self.driver = pid, ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)

    def call(self, name, *words):
        result = getattr(self.driver, name)(*words)
        if result:
            sys.exit("suspend_and_resume: %s gave %d" % (name, result))

    def process(self, *names):
        for name in names:
            self.call("cuCheckpointProcess" + name, self.pid, None)

    def suspend(self):
        self.process("Lock", "Checkpoint")

    def resume(self):
        self.process("Restore", "Unlock")


class OfTheBox:
    """An administrator at the box."""

    def __init__(self, build, port):
        self.words = [os.path.join(build, "bin", "rgpuctl")], ["--socket", os.path.join(directory_of(port), "admin")]
        self.session = None

    def ask(self, *words):
        done = subprocess.run([*self.words[0], *words, *self.words[1]], capture_output=True, text=True)
        if done.returncode:
            sys.exit("suspend_and_resume: %s: %s" % (" ".join(words), done.stderr.strip()))
        return done.stdout

    def lease(self):
        """The one that is served: the box lends one share."""
        rows = [json.loads(line) for line in self.ask("sessions", "--json").splitlines() if line]
        served = [row for row in rows if row["state"] == "serving"]
        if len(served) != 1:
            sys.exit("suspend_and_resume: %d sessions are served" % len(served))
        return served[0]["lease"] or str(served[0]["session"])

    def suspend(self):
        self.ask("suspend", self.session)

    def resume(self):
        self.ask("resume", self.session)


def main():
    build, size = sys.argv[1], int(sys.argv[2])
    port = os.environ.get("STUDY_LENT_PORT")
    if port:
        os.environ["RGPU_TICKET_FILE"] = os.path.join(directory_of(port), "ticket-0")
    held = subprocess.Popen([os.path.join(build, "bench", "studies", "own_kernels"), "hold", str(size)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    if held.stdout.readline() != "holds\n":
        sys.exit("suspend_and_resume: the program has not started")
    who = OfTheBox(build, port) if port else OfTheDriver(held.pid)
    if port:
        who.session = who.lease()
    figure("off the GPU", size, timed(who.suspend))
    figure("back on the GPU", size, timed(who.resume))
    print(held.communicate("\n")[0], end="", flush=True)
    sys.exit(held.returncode)


main()
