#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which file needs which, from what they include and from the symbols that their objects take.

usage: arrows.py SOURCES BUILD folders    folder -> folder: the files that tie them
       arrows.py SOURCES BUILD circles    each set of files of which everyone needs everyone
       arrows.py SOURCES BUILD between    circles that span folders
Programs of tests, benchmarks and studies do not count. A header counts as the file of its name, so `a.c`
needs `b.c` where it includes `b.h`; an object's symbols tell what includes do not.
"""
import collections
import os
import re
import subprocess
import sys

# Their rooms are one folder to those outside.
LIBRARIES = ('common', 'transport')
# The floor's symbols are those of the C library.
LEFT_OUT = ('tests', 'bench', 'examples', 'studies', 'build', 'docs', 'templates', 'floor')


def unit(path):
    """A source and its header are one."""
    return re.sub(r'\.(c|h|def)$', '', path)


def sources(top):
    for folder, below, files in os.walk(top):
        relative = os.path.relpath(folder, top)
        below[:] = [d for d in below if d not in LEFT_OUT and not d.startswith('.')]
        for name in files:
            if name.endswith(('.c', '.h', '.def')):
                yield os.path.normpath(os.path.join(relative, name))


def include_arrows(top, paths):
    known = set(paths)
    for path in paths:
        with open(os.path.join(top, path), encoding='utf-8') as f:
            for name in re.findall(r'^#include "([^"]+)"', f.read(), re.M):
                if name in known:
                    yield unit(path), unit(name)


def objects(top, build, paths):
    """Every object and the unit that it belongs to; generated code belongs to the folder that it is of."""
    for path in paths:
        made = os.path.join(build, 'obj', path[:-2] + '.o')
        if path.endswith('.c') and os.path.exists(made):
            yield made, unit(path)
    folder = os.path.join(build, 'obj', 'gen')
    for name in sorted(os.listdir(folder)):
        owner = {'api': 'client-lib/cuda/api', 'client': 'client-lib/cuda/objects', 'worker': 'daemon/worker/intake',
                 'weak': 'sim'}
        # Not what an earlier version has left there.
        template = os.path.join(top, 'proto/generate/templates', name[:-2] + '.c')
        if name.endswith('.o') and os.path.exists(template):
            of = 'daemon/worker/core' if name == 'worker_driver.o' else owner.get(name.split('_')[0], 'proto')
            yield os.path.join(folder, name), of + '/' + name[:-2]


def symbol_arrows(top, build, paths):
    defined, wanted = collections.defaultdict(list), []
    owners = dict(objects(top, build, paths))
    text = subprocess.run(['nm', '-A', *owners], check=True, capture_output=True, text=True).stdout if owners else ''
    for line in text.splitlines():
        made, _, symbol = line.partition(':')
        kind, name = symbol.split()[-2:]
        if kind in 'TDBRW' and name != 'main':
            defined[name].append(owners[made])
        elif kind == 'U':
            wanted.append((owners[made], name))
    for taker, symbol in wanted:
        # A name that several programs define is the one of the taker's own folder, or nobody's here.
        givers = defined[symbol]
        top = taker.split('/')[0]
        if len(givers) > 1:
            givers = [g for g in givers if g.split('/')[0] == top]
        if len(givers) == 1:
            yield taker, givers[0]


def circles(arrows):
    """Strongly connected components of more than one file (Tarjan, 1972), without recursion."""
    index, low, stack, on, found = {}, {}, [], set(), []
    for root in sorted(arrows):
        if root in index:
            continue
        work = [(root, iter(sorted(arrows[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(arrows.get(other, ())))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on.discard(component[-1])
                    if len(component) > 1:
                        found.append(sorted(component))
    return sorted(found)


def folder_seen(unit_of, by):
    folder = os.path.dirname(unit_of)
    library = folder.split('/')[0]
    return library if library in LIBRARIES and library != by.split('/')[0] else folder


def main(top, build, what):
    paths = sorted(sources(top))
    arrows = collections.defaultdict(set)
    for a, b in list(include_arrows(top, paths)) + list(symbol_arrows(top, build, paths)):
        if a != b:
            arrows[a].add(b)
    if what == 'folders':
        ties = collections.defaultdict(set)
        for a, others in arrows.items():
            for b in others:
                if os.path.dirname(a) != os.path.dirname(b):
                    ties[os.path.dirname(a), folder_seen(b, a)].add(f'{a} -> {b}')
        for (a, b), files in sorted(ties.items()):
            print(f'{a} -> {b}: {len(files)}, as {min(files)}')
        return
    for circle in circles(arrows):
        if what == 'circles' or len({os.path.dirname(f) for f in circle}) > 1:
            print(' '.join(circle))


if len(sys.argv) != 4 or sys.argv[3] not in ('folders', 'circles', 'between'):
    sys.exit(__doc__)
main(*sys.argv[1:])
