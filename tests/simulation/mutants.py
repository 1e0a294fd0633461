#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mutants of the broker's and the agent's decisions, drawn by a seed, and how many of them unit tests and simulator find.

    tests/simulation/mutants.py [--seed N] [--count N] [--seeds N] [--seconds N] [--only NUMBER,...] [--minutes M] [--jobs N]
                              [--files TEXT]

--files takes only files whose names contain the text; --seeds 0 leaves the simulator out.

A mutant is one change of one line: a negated condition, a dropped call, or a number that is off by one. Each is compiled
in place of its file (BUILD has everything else), and runs the unit tests and then as many
seeds of dense and of ordinary faults. A program that does not end within so many seconds finds it, too.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

from coverage import FILES, TOP

UNIT_TESTS = ["broker-" + name for name in ("pool", "plan", "queue", "capacity", "bodies", "steering", "reports", "restart", "adoption", "reserve")] + [
    "daemon-revocations", "daemon-known-leases", "daemon-broker-agent"]
# What only says something, or ends the process where memory is missing: no decision is in it.
SAYS = re.compile(r"\b(log_\w+|snprintf|json_object_set_new|json_array_append_new|histogram_add|va_\w+|printf|json_decref"
                  r"|\w*free\w*|tdestroy|plan_clear|explicit_bzero|fault_point|vsnprintf|storage_note|abort)\(")


def negated(line):
    """Yields the line with a condition negated."""
    match = re.match(r"(\s*(?:\} else )?if \()(.*)(\)(?: \{)?)$", line)
    if match and match[2].count("(") == match[2].count(")"):
        yield match[1] + "!(" + match[2] + ")" + match[3]
    match = re.match(r"(\s*return )([^;]*(?:==|!=|<|>|&&|\|\|)[^;]*)(;)$", line)
    if match and match[2].count("(") == match[2].count(")"):
        yield match[1] + "!(" + match[2] + ")" + match[3]


def dropped(line):
    """Yields the line without its call."""
    if re.match(r"\s+\w+\([^;]*\);$", line) and not SAYS.search(line) and not line.strip().startswith("return"):
        yield re.match(r"\s+", line)[0] + ";"
    match = re.match(r"(\s+)[\w>.\[\]-]+ (=|\|=|\+=) [^;]*;$", line)
    if match and "(" not in line:
        yield match[1] + ";"


# Counters of which only a change is looked at.
CHANGES = re.compile(r"(generation|moment|suspensions|gone|new_models|requests|counters\.\w+|unauthorized)\+\+")


# The lesser or the greater of two values: the same where they are equal.
BOUND = re.compile(r"([\w>.*-]+) [<>] ([\w>.*-]+) \? (\1 : \2|\2 : \1)\b")
# Comparison of elements for a sort, which are never equal in this.
ORDER = re.compile(r"[<>] \S+ \? -1 : 1;")


def off_by_one(line):
    bound = BOUND.search(line)
    if CHANGES.search(line) or ORDER.search(line):
        return
    for old, new in ((" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" + 1", ""), (" - 1", ""),
                     ("++", "+= 2"), (" == 0", " == 1"), (" > 0", " > 1")):
        if bound and bound.start() <= line.find(old) < bound.end():
            continue
        if old in line and not line.strip().startswith(("for", "//")) and "\"" not in line:
            yield line.replace(old, new, 1)


def candidates():
    for path in FILES:
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            lines = file.read().split("\n")
        for number, line in enumerate(lines):
            # A condition of a message, or of a fault that is not there, decides nothing.
            following = lines[min(number + 1, len(lines) - 1)]
            idle = "fault_point(" in following or (line.endswith(")") and re.match(r"\s+log_\w+\(", following))
            if line.startswith((" ", "\t")) and not SAYS.search(line) and not idle:
                for kind in (negated, dropped, off_by_one):
                    for changed in kind(line):
                        yield kind.__name__, path, number, changed


def commands():
    """Returns how make compiles a file, and how it links each test."""
    tests = [os.path.relpath(BUILD, TOP) + "/tests/" + name for name in UNIT_TESTS + ["simulate"]]
    text = subprocess.run(["make", "-n", "-B", "V=1", "WERROR=", "ASSERT=1"] + tests,
                          cwd=TOP, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ")
    compiles, links = {}, {}
    for line in text.split("\n"):
        match = re.search(r"-c -o (\S+) (\S+\.c)$", line.strip())
        if match:
            compiles[match[2]] = line.strip()
        elif "-o" in line and line.split("-o ")[-1].split()[:1][0] in tests:
            links[os.path.basename(line.split("-o ")[-1].split()[0])] = line.strip()
    return compiles, links


def compile_mutant(mutant, folder, compiles):
    _, path, number, changed = mutant
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        lines = file.read().split("\n")
    lines[number] = changed
    source, objects = folder + "/mutant.c", folder + "/mutant.o"
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    compile_it = re.sub(r"-MMD -MP -c -o \S+ \S+$", "-w -O0 -c -o %s %s" % (objects, source), compiles[path])
    return not subprocess.run(compile_it, shell=True, cwd=TOP, capture_output=True, check=False).returncode


def outcome_of(command, name, seconds):
    """Returns what a program says of the mutant, or None if it finds nothing."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return name + " does not end"
    lines = [line for line in result.stdout.split("\n") if line.startswith(("BROKEN", "not ok"))]
    if lines or result.returncode:
        return "%s: %s" % (name, lines[0] if lines else "status %d" % result.returncode)
    return None


def found_by(name, link, mutant, folder, options):
    """Returns how the mutant was found by one program, or None."""
    command = [folder + "/" + name]
    # Unit tests find memory that is lost, too.
    leaks = "" if name == "simulate" else "-fsanitize=leak "
    link, replaced = re.subn(r" \S*/obj/%s\.o\b" % re.escape(mutant[1][:-2]), "", link)
    if not replaced and not ("rgpubroker.a" in link and mutant[1].startswith("broker/")):
        return None
    link_it = re.sub(r"-o \S+", "%s-o %s %s/mutant.o" % (leaks, command[0], folder), link, count=1)
    linked = subprocess.run(link_it, shell=True, cwd=TOP, capture_output=True, text=True, check=False)
    if "multiple definition" in linked.stderr:
        return None  # a stand-in of the simulator has the file's place
    linked.check_returncode()
    if name != "simulate":
        return outcome_of(command, name, options.seconds)
    life = ["--seeds", "1-%d" % options.seeds, "--minutes", str(options.minutes), "--stop"]
    return (outcome_of(command + life + ["--boxes", "6", "--users", "20", "--dense"], name, options.seconds)
            or outcome_of(command + life + ["--boxes", "7", "--users", "30"], name, options.seconds))


def judge(number, mutant, compiles, links, options):
    """Returns a description of the mutant and how it was found, or None if it does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        if not compile_mutant(mutant, folder, compiles):
            return None
        began = time.monotonic()
        how = next(filter(None, (found_by(name, links[name], mutant, folder, options)
                                    for name in UNIT_TESTS + ["simulate"] * (options.seeds > 0))), None)
        text = "%3d %-10s %s:%d: %s\n    %s" % (number, mutant[0], mutant[1], mutant[2] + 1, mutant[3].strip(),
                                              "%.0f s: %s" % (time.monotonic() - began, how) if how else "NOT FOUND")
        return text, how is not None


def main():
    global BUILD
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--minutes", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--files", default="")
    parser.add_argument("--only", type=lambda text: set(map(int, text.split(","))))
    options = parser.parse_args()
    BUILD = os.environ.get("BUILD", TOP + "/build")
    compiles, links = commands()
    drawn = [mutant for mutant in candidates() if options.files in mutant[1]]
    random.Random(options.seed).shuffle(drawn)
    drawn = [(number, mutant) for number, mutant in enumerate(drawn) if not options.only or number in options.only]
    found = tried = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while drawn and tried < options.count:
            some, drawn = drawn[:options.count - tried], drawn[options.count - tried:]
            for result in pool.map(lambda pair: judge(*pair, compiles, links, options), some):
                if result:
                    tried += 1
                    found += result[1]
                    print(result[0], flush=True)
    print("%d of %d mutants found" % (found, tried))
    return 0


if __name__ == "__main__":
    sys.exit(main())
