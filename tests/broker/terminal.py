#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program on a terminal of WIDTHxHEIGHT that draws screens: terminal.py WIDTHxHEIGHT STEP... -- PROGRAM...

A step is a text that must come up on a screen (after the keys before it), or `keys:CHARACTERS`. Each whole screen must fit the
terminal. Prints "seen STEP" for each, the last screen, and the program's exit status.
"""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios

TIMEOUT = 60


def screens(text):
    """What stands on the terminal after each time that it was cleared; the last may be incomplete."""
    return text.split("\033[H\033[J")


def check(screen, width, height):
    lines = re.sub("\033\\[[0-9;]*m", "", screen).replace("\r", "").split("\n") # without colours
    if len(lines) > height or max(map(len, lines)) > width:
        sys.exit("a screen of %d lines, the longest of %d:\n%s" % (
            len(lines), max(map(len, lines)), screen))


def main():
    width, height = map(int, sys.argv[1].split("x"))
    end = sys.argv.index("--")
    steps, program = sys.argv[2:end], sys.argv[end + 1:]
    pid, line = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        os.execvp(program[0], program)
    seen = ""
    for step in steps:
        if step.startswith("keys:"):
            os.write(line, step[5:].encode())
            seen = ""
            print("seen " + step, flush=True)
            continue
        while step not in seen:
            if not select.select([line], [], [], TIMEOUT)[0]:
                sys.exit("missing %s in:\n%s" % (step, seen))
            seen += os.read(line, 1 << 16).decode()
        print("seen " + step, flush=True)
    whole = seen
    try:
        while select.select([line], [], [], TIMEOUT)[0]:
            whole += os.read(line, 1 << 16).decode()
    except OSError:
        pass  # it has ended
    _, status = os.waitpid(pid, 0)
    for screen in screens(whole)[1:-1]:
        check(screen, width, height)
    print("last " + screens(whole)[-1].replace("\r", ""))
    print("status %d" % os.waitstatus_to_exitcode(status))


main()
