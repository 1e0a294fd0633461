#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Compares what a device gave for textures with the record of a GPU: compare.py RECORD.xz ACCEPTED OUTPUT.
# Lines are equal to the bit, or a row of ACCEPTED says how far they may be apart and why.
import collections
import fnmatch
import lzma
import re
import struct
import sys


def lines_of(text):
    found = collections.OrderedDict()
    for line in text.splitlines():
        name, _, words = line.partition(':')
        found[name] = words.split()
    return found


def rows_of(path):
    for line in open(path):
        if line.strip() and not line.startswith('#'):
            pattern, limit, why = re.match(r'"(.*)" (\S+): (.+)', line).groups()
            yield [pattern, None if limit == 'any' else float(limit), why, 0]


def number(word):
    return struct.unpack('f', struct.pack('I', int(word, 16)))[0]


def apart(gpu, ours):
    """The largest difference of two lines' floats; None where they are not the same kind of line."""
    try:
        pairs = [(number(a), number(b)) for a, b in zip(gpu, ours) if a != b]
    except ValueError:
        return None
    return max((abs(a - b) for a, b in pairs), default=0) if len(gpu) == len(ours) else None


def accepts(rows, name, distance):
    for row in rows:
        if fnmatch.fnmatchcase(name, row[0]) and (row[1] is None or (distance is not None and distance <= row[1])):
            row[3] += 1
            return True
    return False


def main():
    record = lines_of(lzma.open(sys.argv[1], 'rt').read())
    rows = list(rows_of(sys.argv[2]))
    ours = lines_of(open(sys.argv[3]).read())
    equal, wrong = 0, 0
    for name, words in record.items():
        if ours.get(name) == words:
            equal += 1
        elif not accepts(rows, name, apart(words, ours.get(name, []))):
            wrong += 1
            print(f'differs: {name}: {" ".join(words)[:60]} here {" ".join(ours.get(name, ["nothing"]))[:60]}')
    for pattern, _, _, uses in rows:
        if not uses:
            wrong += 1
            print(f'no line needs the accepted difference "{pattern}"')
    print(f'{equal} of {len(record)} lines are equal, {len(record) - equal - wrong} differ as accepted')
    sys.exit(1 if wrong else 0)


main()
