# SPDX-License-Identifier: BSD-3-Clause
"""Compares what a library answers to wrong arguments with the record of a driver.

usage: compare.py SIDE RECORD ACCEPTED SPEC RESULT
SIDE is `client` or `sim`. Prints the differences that ACCEPTED has no reason for; status 1 where there are any.
Where the driver crashed, hung or varied, every answer is right but a crash. A call that is sent and not awaited may
fail with the next one (`0+CODE`).
"""
import fnmatch
import re
import sys


def read(path):
    """{(call, case): answer}"""
    answers = {}
    with open(path, encoding='ascii') as lines:
        for line in lines:
            words = line.split('#')[0].split()
            if words:
                answers[words[0], ' '.join(words[1:-1])] = words[-1]
    return answers


def read_accepted(path, side):
    """[(call pattern, case pattern, driver's pattern, our pattern)]"""
    rows = []
    with open(path, encoding='ascii') as lines:
        for line in lines:
            row, _, why = line.partition(':')
            words = row.split('#')[0].split()
            if not words:
                continue
            if len(words) != 5 or not why.strip():
                sys.exit(f'{path}: a row is SIDE CALL CASE DRIVER OURS: WHY, not "{line.strip()}"')
            if words[0] in (side, 'both'):
                rows.append(tuple(words[1:]))
    return rows


def read_classes(path):
    with open(path, encoding='ascii') as lines:
        matches = [re.match(r'\d+\s+(\w+)\S*\s+(cu\w+) ', line) for line in lines]
    return {m.group(2): m.group(1) for m in matches if m}


def agree(driver, ours, cls):
    if driver in ('crash', 'hang', 'varies'):
        return True
    if driver.split('+')[0] == ours.split('+')[0]:
        return True
    return cls == 'async' and ours == f'0+{driver}'


def fits(value, patterns):
    return any(fnmatch.fnmatchcase(value, pattern) for pattern in patterns.split('|'))


def is_accepted(rows, call, case, driver, ours):
    return any(fits(call, row[0]) and fits(case, row[1]) and fits(driver, row[2]) and fits(ours, row[3])
               for row in rows)


def main(side, record, accepted, spec, result):
    recorded, answers, classes = read(record), read(result), read_classes(spec)
    rows = read_accepted(accepted, side)
    refused = {call for call, cls in classes.items() if cls == 'unsupported'}
    if side == 'sim': # what it does not have it refuses, whatever the arguments
        have = {call for (call, case), answer in answers.items() if answer != '801' and case != 'before-init'}
        refused |= set(classes) - have
    compared = differ = 0
    for (call, case), driver in recorded.items():
        ours = answers.get((call, case))
        if call in refused or ours is None:
            continue
        compared += 1
        if not agree(driver, ours, classes[call]) and not is_accepted(rows, call, case, driver, ours):
            differ += 1
            print(f'{call} {case}: the driver says {driver}, {side} says {ours}')
    print(f'# {compared} compared, {differ} differ')
    return differ > 0 or compared < 1000


sys.exit(main(*sys.argv[1:]))
