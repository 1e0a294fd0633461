# SPDX-License-Identifier: BSD-3-Clause
"""Runs the sessions that a page prints, and compares what they print: consoles.py PAGE MACHINE [ENTER...], in the directory and with
the environment that the commands are to have; ENTER is a command in front of the shell, which enters a machine. A session is a block ```console after a line <!-- on MACHINE -->. A line with "$ " in front
is a command, which "\\" at its end goes on; the lines after it are its output. All sessions of a page are one shell's.

Numbers, the width of columns, and dates are any; a line "..." stands for any lines. A command that ends in "&" has to print its
lines and goes on. Writes a line of TAP for each command, and says what was printed otherwise."""
import os
import re
import select
import subprocess
import sys
import time

SECONDS = 120
END = "=== the end of a command ==="


def commands(path, machine):
    """(command, lines of output) of each command of the page's sessions on MACHINE."""
    found, on, inside = [], None, False
    for line in open(path, encoding="utf-8").read().split("\n"):
        mark = re.match(r"<!-- on ([\w-]+) -->", line)
        if mark:
            on = mark[1]
        elif line.startswith("```console"):
            inside = on == machine
        elif line.startswith("```"):
            inside, on = False, None
        elif inside and line.startswith("$ "):
            found.append([line[2:], []])
        elif inside and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1][0] += "\n" + line
        elif inside:
            found[-1][1].append(line)
        elif line.strip():
            on = None
    return found


def plain(line):
    """The line without what differs from one run to the next."""
    line = re.sub(r"\b(?=[0-9a-f-]*\d)[0-9a-f]{8,}(?:-[0-9a-f]+)*\b|\bL1[0-9a-z]{14}\b", "#", line)
    line = re.sub(r"\d[\d.:,-]*(?=\D|$)(?:\s?(?:us|ms|s|[KMG]i?B/s)\b)?", "#", line)
    return re.sub(r"\s+", " ", line).strip()


def agrees(expected, printed):
    if not expected:
        return not printed
    if expected[0] == "...":
        return any(agrees(expected[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and plain(expected[0]) == plain(printed[0]) and agrees(expected[1:], printed[1:])


class Shell:
    def __init__(self, enter):
        orders, self.orders = os.pipe()
        self.read, printed = os.pipe()
        loop = 'trap "kill \\$(jobs -p) 2>/dev/null; wait" EXIT; ' \
               f'while IFS= read -r -d "" -u {orders} command; do eval "$command" {orders}<&-; done'
        self.process = subprocess.Popen([*enter, "bash", "-c", loop], stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, pass_fds=[orders])
        os.close(orders)
        os.close(printed)
        self.text = ""

    def run(self, command, expected):
        """The lines that COMMAND prints until it ends, or has printed EXPECTED where it goes on."""
        goes_on = command.rstrip().endswith("&")
        self.text = ""
        os.write(self.orders, f"{command}\n{'' if goes_on else f'echo; echo {END}'}\0".encode())
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            lines = self.text.split("\n")
            if END in lines:
                lines = lines[:lines.index(END)]
                return lines[:-1] if lines and not lines[-1] else lines
            if goes_on and agrees(expected, lines[:-1]):
                return lines[:-1]
            if select.select([self.read], [], [], 1)[0]:
                more = os.read(self.read, 65536).decode(errors="replace")
                if not more:
                    break
                self.text += more
        return self.text.split("\n")


def main(path, machine, *enter):
    found, shell, failed = commands(path, machine), Shell(enter), 0
    if not found:
        sys.exit(f"{path} has no session on {machine}")
    for command, expected in found:
        printed = shell.run(command, expected)
        right = agrees(expected, printed)
        failed += not right
        print(f"{'ok' if right else 'not ok'} - {os.path.basename(path)}: $ {' '.join(command.split())}")
        for line in () if right else ["printed:", *printed, "and not:", *expected]:
            print("#   " + line)
    os.close(shell.orders)
    shell.process.wait()
    return failed > 0


sys.exit(main(*sys.argv[1:]))
