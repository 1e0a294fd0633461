# SPDX-License-Identifier: BSD-3-Clause
"""What wire.h declares: structures, values and macros, each of which travels and is compared by itself."""
import hashlib
import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'wire.h')


def short_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def enumerators(body):
    """NAME and value, which is what is written or how far it is behind the last written one."""
    base, after = '', -1
    for item in filter(None, (item.strip() for item in body.split(','))):
        name, _, value = item.partition('=')
        base, after = (''.join(value.split()), 0) if value else (base, after + 1)
        yield name.strip(), f'{base}+{after}' if after else base


def facts(path=PATH):
    """{(KIND, NAME): VALUE}"""
    with open(path, encoding='ascii') as f:
        text = re.sub(r'/\*.*?\*/', '', re.sub(r'//[^\n]*', '', f.read()), flags=re.S)
    found = {}
    for name, body in re.findall(r'^struct (\w+) \{(.*?)^\}', text, re.M | re.S):
        found['struct', name] = short_hash(' '.join(body.split()))
    for body in re.findall(r'^enum(?: \w+)? \{(.*?)\};', text, re.M | re.S):
        for name, value in enumerators(body):
            found['value', name] = value
    for name, value in re.findall(r'^#define (\w+(?:\(\w+(?:, \w+)*\))) (.*)$', text, re.M):
        found['macro', name.split('(')[0]] = short_hash(' '.join(value.split()))
    return found
