# SPDX-License-Identifier: BSD-3-Clause
"""Keeps the lists honest towards releases: what a release speaks stays as it is while the list's version stays.

proto/version.lock has one line for each thing that a release knows of a list, and since which one:

    LIST KIND NAME VALUE RELEASE

What no release knows yet may still change, and has no line: adding to a list is no matter of the lock.
"""

import os
import re
import sys

LOCK = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'version.lock')
# The first release of all, whose boxes do not say which calls they know.
FIRST = '0.1'


def read(path=LOCK):
    """{(LIST, KIND, NAME): (VALUE, RELEASE)}"""
    entries = {}
    with open(path, encoding='ascii') as lock:
        for line in lock:
            words = line.split('#')[0].split()
            if words:
                entries[tuple(words[:3])] = tuple(words[3:])
    return entries


def known_first(kind, path=LOCK):
    """{NAME: VALUE} of a kind that is known since the first release."""
    return {key[2]: value for key, (value, release) in read(path).items() if key[1] == kind and release == FIRST}


def grown(old, new):
    """What was added at the end; None where more than that was changed."""
    if new != old and not new.startswith(old + ','):
        return None
    return new[len(old) + 1:].split(',') if new != old else []


def compare(key, value, release, facts, may_grow):
    """None, or what is wrong."""
    new = facts.get(key[1:])
    if new == value:
        return None
    name = f'{key[1]} {key[2]}'
    advice = f'leave it as it is and add another, or raise the version of the protocol {key[0]}'
    if new is None:
        return f'{name} is gone, but releases since {release} use it: {advice}'
    more = grown(value, new) if key[1:] in may_grow else None
    if more is None:
        return f'{name} was changed, but releases since {release} know it as {value}: {advice}'
    if key[1] == 'message' and not all(field.endswith('/later') for field in more):
        return f'{name} has a field more, which must be marked "later": releases since {release} leave it out'
    return None


def check(protocol, model, path=LOCK):
    """None when all that releases know is there as they know it, else what is wrong and what to do."""
    entries = {key: entry for key, entry in read(path).items() if key[0] == protocol.name}
    locked = entries.pop((protocol.name, 'protocol', protocol.name), ('0', ''))[0]
    if protocol.version < int(locked):
        return f'protocol {protocol.name} was at version {locked} in a release, and is never put back'
    if protocol.version > int(locked):
        return None
    wrong = [compare(key, *entry, model['facts'], model['may_grow']) for key, entry in entries.items()]
    return '\n'.join(filter(None, wrong)) or None


def add(protocol, model, release, path=LOCK):
    """Enters what RELEASE speaks. What an earlier one spoke keeps that one's name."""
    wrong = check(protocol, model, path) if re.fullmatch(r'\d+\.\d+', release) else f'{release} is no release'
    if wrong:
        sys.exit(wrong)
    entries = read(path)
    version = (protocol.name, 'protocol', protocol.name)
    same = entries.get(version, ('0',))[0] == str(protocol.version)
    before = {key: entry for key, entry in entries.items() if same and key[0] == protocol.name}
    facts = {version[1:]: str(protocol.version)} | model['facts']
    now = {(protocol.name, *key): (value, before.get((protocol.name, *key), ('', release))[1])
           for key, value in facts.items()}
    others = {key: entry for key, entry in entries.items() if key[0] != protocol.name}
    with open(path, encoding='ascii') as lock:
        head = [line for line in lock if line.startswith('#')]
    with open(path, 'w', encoding='ascii') as lock:
        lock.writelines(head)
        for key, entry in (others | now).items():
            lock.write(' '.join(key + entry) + '\n')
