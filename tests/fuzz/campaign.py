# SPDX-License-Identifier: BSD-3-Clause
"""campaign.py --seconds N [--each] --seed S [--tap] TARGET...: runs the libFuzzer programs of $BUILD/fuzz one after the
other, N seconds in all or each, and prints a table of executions and findings; status 1 if there are any. With --tap it is a
test of each target, which fails with a finding, or if the target took no input beyond those of its corpus.

What a target finds that is new goes to build/fuzz/corpus/TARGET and is where the next run goes on. An
input that brings a target down is made as small as can be in half a minute, and lies in
build/fuzz/findings with what the sanitizer said beside it."""
import argparse
import base64
import os
import re
import shutil
import subprocess
import sys
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
WORK = os.path.join(TOP, "build", "fuzz")
FINDINGS_MAX = 5  # of a target in one run; the first is to be mended first
INPUT_SHOWN = 4096  # bytes of an input that a log shows, since a machine of CI keeps no files
REPORT_SHOWN = 40   # lines
COMMON = ["-rss_limit_mb=3072", "-timeout=60", "-print_final_stats=1", "-verbosity=1"]


class Target:
    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        self.program = os.path.join(os.environ["BUILD"], "fuzz", name)
        self.corpus = os.path.join(WORK, "corpus", name)
        self.findings = []
        self.shown = []  # what a log has to say of the findings
        self.executions = self.edges = 0
        self.seconds = 0.0
        os.makedirs(self.corpus, exist_ok=True)
        os.makedirs(os.path.join(WORK, "findings"), exist_ok=True)

    def launch(self, *arguments):
        # Programs write to the directory they are in, and find what they load by BUILD.
        result = subprocess.run([self.program, *COMMON, *arguments], cwd=TOP, text=True,
                                errors="replace", stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)
        return result.returncode, result.stderr

    def once(self, seconds):
        prefix = os.path.join(WORK, "findings", self.name + "-")
        begin = time.monotonic()
        status, said = self.launch("-max_total_time=%d" % max(1, seconds), "-seed=%d" % self.seed,
                                   "-artifact_prefix=" + prefix, self.corpus,
                                   os.path.join("tests", "fuzz", "corpus", self.name))
        self.seconds += time.monotonic() - begin
        self.seed += 1
        count = re.search(r"stat::number_of_executed_units: (\d+)", said)
        self.executions += int(count.group(1)) if count else 0
        self.edges = max([self.edges] + [int(n) for n in re.findall(r" cov: (\d+)", said)])
        if status:
            self.record(said)

    def record(self, said):
        written = re.search(r"Test unit written to (\S+)", said)
        what = re.search(r"(ERROR: \w+Sanitizer: [\w-]+|ERROR: libFuzzer: [^\n(]+|runtime error: [^\n]+)", said)
        if not written:
            self.findings.append("ended without an input: " + said.strip()[-300:])
            self.shown += said.splitlines()[-REPORT_SHOWN:]
            return
        path = written.group(1)
        with open(path + ".txt", "w") as report:
            report.write(said)
        smaller = path + ".small"
        if "timeout-" not in path:
            self.launch("-minimize_crash=1", "-max_total_time=30",
                        "-exact_artifact_path=" + smaller, path)
        if os.path.exists(smaller) and os.path.getsize(smaller) <= os.path.getsize(path):
            shutil.move(smaller, path)
        self.findings.append("%s: %s" % (os.path.relpath(path, TOP),
                                         what.group(1) if what else "see the report"))
        lines = said.splitlines()
        first = next((i for i, line in enumerate(lines) if what and what.group(1) in line), 0)
        self.shown += lines[first:first + REPORT_SHOWN]
        with open(path, "rb") as file:
            data = file.read()
        if len(data) <= INPUT_SHOWN:
            self.shown.append("base64 of the input: " + base64.b64encode(data).decode())

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end - 1 and len(self.findings) < FINDINGS_MAX:
            self.once(end - time.monotonic())


    def inputs_at_hand(self):
        return sum(len(os.listdir(folder)) for folder in
                   (self.corpus, os.path.join(TOP, "tests", "fuzz", "corpus", self.name)))


def run_table(targets, seconds):
    print("%-16s %8s %12s %9s %7s %9s" % ("target", "seconds", "executions", "per sec.",
                                          "edges", "findings"))
    for target in targets:
        target.run(seconds)
        print("%-16s %8.0f %12d %9.0f %7d %9d" % (
            target.name, target.seconds, target.executions,
            target.executions / max(target.seconds, 1e-9), target.edges, len(target.findings)),
            flush=True)
    found = [finding for target in targets for finding in target.findings]
    print("%-16s %8.0f %12d %9s %7s %9d" % (
        "all", sum(t.seconds for t in targets), sum(t.executions for t in targets), "", "",
        len(found)))
    for finding in found:
        print(finding)
    return bool(found)


def run_tap(targets, seconds, seed):
    failed = False
    print("1..%d" % len(targets))
    for number, target in enumerate(targets, 1):
        at_hand = target.inputs_at_hand()
        target.run(seconds)
        good = not target.findings and target.executions > at_hand
        failed = failed or not good
        print("%s %d - %s: seed %d, %d executions in %.0f s, %d of its corpus, %d findings" % (
            "ok" if good else "not ok", number, target.name, seed, target.executions,
            target.seconds, at_hand, len(target.findings)), flush=True)
        for line in target.findings + target.shown:
            print("#   " + line, file=sys.stderr, flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    targets = [Target(name, options.seed) for name in options.targets]
    seconds = options.seconds if options.each else options.seconds / len(targets)
    sys.exit(run_tap(targets, seconds, options.seed) if options.tap else run_table(targets, seconds))


main()
