#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes C programs that tell what a CUDA header declares, for comparing ours with NVIDIA's.

usage: abi_probe.py probe OURS.i MACROS > probe.c    prints every size, offset and value
       abi_probe.py names ANY.i                      lists enumerators and structure types
OURS.i is the preprocessed header, MACROS the list of its macros (gcc -E -dM).
"""
import re
import sys


def declarations(text):
    """Top-level declarations of preprocessed C, in one line each."""
    text = re.sub(r'^#.*$', '', text, flags=re.M)
    depth, start = 0, 0
    for i, c in enumerate(text):
        if c == '{':
            depth += 1
        elif c == '}':
            depth -= 1
        elif c == ';' and depth == 0:
            yield ' '.join(text[start:i].split())
            start = i + 1


def split_members(body):
    depth, start = 0, 0
    for i, c in enumerate(body):
        depth += (c in '{(') - (c in '})')
        if c == ';' and depth == 0:
            yield body[start:i].strip()
            start = i + 1


def members(body, prefix=''):
    """Paths of all members; those of an unnamed structure or union belong to what holds it."""
    for member in split_members(body):
        nested = re.match(r'(?:struct|union)\b[^{]*\{(.*)\}\s*(\w*)(?:\[.*\])?$', member)
        if nested:
            inner, name = nested.groups()
            if name:
                yield prefix + name
            yield from members(inner, f'{prefix}{name}.' if name else prefix)
            continue
        for declarator in re.sub(r'_Alignas\s*\(\w+\)', '', member).split(','):
            yield prefix + re.search(r'(\w+)\s*(?:\[[^\]]*\])?$', declarator.strip()).group(1)


def read(path):
    records, enumerators = {}, []
    with open(path) as f:
        text = f.read()
    for declaration in declarations(text):
        enum = re.match(r'typedef enum\s*\w*\s*\{(.*)\}\s*\w+$', declaration)
        record = re.match(r'typedef (?:struct|union)\s*\w*\s*\{(.*)\}\s*(\w+)$', declaration)
        if enum:
            enumerators += re.findall(r'(\w+)\s*(?:=[^,]*)?(?:,|$)', enum.group(1).strip())
        elif record and re.match('CU', record.group(2)):
            records[record.group(2)] = list(members(record.group(1)))
    return records, enumerators


def scalar_types(path):
    with open(path) as f:
        text = f.read()
    for declaration in declarations(text):
        plain = re.match(r'typedef [^{}()]*\b(c?u?CU\w+|cuuint\w+)$', declaration, re.I)
        if plain:
            yield plain.group(1)


def value_macros(path):
    with open(path) as f:
        for line in f:
            m = re.match(r'#define ((?:CU|CUDA|RESOURCE)_\w+) (.+)$', line)
            if m and 'HAS_BEEN_DEFINED' not in line and m.group(1) != 'CUDA_CB':
                yield m.group(1)


def probe(path, macros):
    records, enumerators = read(path)
    print('#include PROBED\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n')
    print('#define TYPE(t) printf("%s: %zu bytes, aligned to %zu\\n", #t, sizeof(t), _Alignof(t));')
    print('#define MEMBER(t, m) printf("%s.%s: at %zu, %zu bytes\\n", #t, #m, offsetof(t, m), '
          'sizeof(((t *)0)->m));')
    print('#define VALUE(v) printf("%s = %lld\\n", #v, (long long)(intptr_t)(v));\n')
    print('int main(void)\n{')
    for name in sorted(set(scalar_types(path)) | set(records)):
        print(f'    TYPE({name})')
    for name, paths in records.items():
        for member in paths:
            print(f'    MEMBER({name}, {member})')
    for name in enumerators + sorted(value_macros(macros)):
        print(f'    VALUE({name})')
    print('    return 0;\n}')


def names(path):
    records, enumerators = read(path)
    print('\n'.join(sorted(list(records) + [e for e in enumerators if e.startswith('C')])))


def main():
    if len(sys.argv) == 4 and sys.argv[1] == 'probe':
        probe(*sys.argv[2:])
    elif len(sys.argv) == 3 and sys.argv[1] == 'names':
        names(sys.argv[2])
    else:
        raise SystemExit(__doc__)


main()
