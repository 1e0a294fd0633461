# SPDX-License-Identifier: BSD-3-Clause
"""Prints the steps that a page gives for one machine: the indented blocks that follow a line
<!-- on MACHINE... -->, or with a word more <!-- on MACHINE..., WORD -->; or the packages that a table
gives for it: steps.py PAGE MACHINE [WORD], steps.py --packages PAGE MACHINE."""
import re
import sys

packages = sys.argv[1] == "--packages"
page, machine = sys.argv[2 if packages else 1:][:2]
word = sys.argv[3] if len(sys.argv) > 3 and not packages else ""
lines = open(page, encoding="utf-8").read().split("\n")
if packages:
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 2 and machine in re.split(r", ", cells[0]):
            print(" ".join(re.findall(r"`([^`]*)`", cells[1].split(";")[0])))
    sys.exit()
active = inside = False
for line in lines:
    mark = re.match(r"\s*<!-- on ([\w ]+?)(?:, (\w+))? -->", line)
    if mark:
        active = machine in mark[1].split() and (mark[2] or "") == word
        indent, inside = len(line) - len(line.lstrip()) + 4, False
    elif active and line.strip():
        if len(line) - len(line.lstrip()) >= indent:
            print(line[indent:])
            inside = True
        elif inside:
            active = False
