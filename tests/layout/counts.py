#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts what makes the tree hard to read and to find one's way in.

usage: counts.py TREE            "KIND NUMBER" for each kind
       counts.py TREE KIND       the places of one kind: FILE:LINE: TEXT

opener         comments that open with a relative clause ("Who", "Whether", "None")
dialect        comments with a word of the private dialect
dialect-pages  lines of pages and manuals with one
long-comment   comment lines over 100 columns
static-name    names of static functions that several product files use
crowded        folders with more than 40 product files
top-level      folders at the top of the tree
"""
import collections
import os
import re
import subprocess
import sys

WIDTH, FILES_MAX = 100, 40
NOT_PRODUCT = re.compile(r'(tests|bench|examples)/')
OPENERS = re.compile(r'(?:Who|Whoever|Whom|Whose|What|Whatever|Whether|Which|How|Where|Of|So many|So much|As many|None|Nobody|'
                     r'Nothing|That)\b')
DIALECT = re.compile(
    r'\b(?:whoever|who (?:is|has|was|are|have) |told|tells? (?:it|him|them|so|that|how|what|who|whether)|is to be|'
    r'behind (?:it|them|that|this|which|the|each|a|all|its)|hears? of|has it from|comes? of|looked at|nobody|for want of|'
    r'by way of|see[sn]? to (?:it|that))\b', re.I)
COMMENT = re.compile(r'(?:^|\s)(?://|/\*+|\*(?!/))\s?(.*)')
STATIC = re.compile(r'static [^=;(]*?\**(\w+)\(')


def tracked(tree):
    done = subprocess.run(['git', '-C', tree, 'ls-files', '-z'], capture_output=True, text=True)
    if done.returncode == 0:
        return [name for name in done.stdout.split('\0') if name]
    return [os.path.relpath(os.path.join(folder, name), tree) for folder, below, names in os.walk(tree) for name in names]


def comments(lines):
    """(number, text, whether the line opens a comment) of each line with a comment."""
    for number, line in enumerate(lines, 1):
        found = COMMENT.search(line)
        if found:
            goes_on = number > 1 and lines[number - 2].lstrip().startswith('//')
            yield number, found.group(1), '/*' in line or ('//' in line and not goes_on)


def look_at_code(name, lines, found, names):
    for number, text, opens in comments(lines):
        if opens and OPENERS.match(text):
            found['opener'].append((name, number, text))
        if DIALECT.search(text):
            found['dialect'].append((name, number, text))
        if len(lines[number - 1]) > WIDTH:
            found['long-comment'].append((name, number, text))
    if not NOT_PRODUCT.match(name):
        for number, line in enumerate(lines, 1):
            match = STATIC.match(line)
            if match:
                names[match.group(1)].append((name, number))


def count(tree):
    kinds = ('opener', 'dialect', 'dialect-pages', 'long-comment', 'static-name', 'crowded', 'top-level')
    found, names, folders = {kind: [] for kind in kinds}, collections.defaultdict(list), collections.Counter()
    for name in tracked(tree):
        is_code, is_page = re.search(r'\.(c|h|cu)$', name), name.endswith('.md') or '/man/' in name
        if '/' in name and not any(name.split('/')[0] == top for top, _, _ in found['top-level']):
            found['top-level'].append((name.split('/')[0], 0, ''))
        if not (is_code or is_page) or not os.path.isfile(os.path.join(tree, name)):
            continue
        with open(os.path.join(tree, name), errors='replace') as file:
            lines = file.read().split('\n')
        if is_code:
            look_at_code(name, lines, found, names)
            folders[os.path.dirname(name)] += not NOT_PRODUCT.match(name)
        else:
            found['dialect-pages'] += [(name, n, line) for n, line in enumerate(lines, 1) if DIALECT.search(line)]
    for name, places in sorted(names.items()):
        if len({file for file, _ in places}) > 1:
            found['static-name'].append((places[0][0], places[0][1], name))
    found['crowded'] = [(folder, number, 'files') for folder, number in sorted(folders.items()) if number > FILES_MAX]
    return found


def main(tree, kind=None):
    found = count(tree)
    if kind and kind not in found:
        sys.exit(__doc__)
    for name, number, text in found[kind] if kind else ():
        print(f'{name}:{number}: {text.strip()}')
    for each in () if kind else found:
        print(each, len(found[each]))


if not 2 <= len(sys.argv) <= 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
