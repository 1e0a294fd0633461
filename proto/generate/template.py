# SPDX-License-Identifier: BSD-3-Clause
"""Templates of generated files. A template is the file to be, with two additions:

    ${EXPRESSION}        is replaced by its value
    % STATEMENT          a line of Python: `% for x in y:`, `% if a:`, `% else:`, `% name = value`
    % end                ends a `for` or `if`

Indentation in front of `%` is free. An error names the template and its line.
"""
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'templates')


def translate(text):
    """The program that writes the file: one line for each line of the template."""
    program, depth = [], 0
    for line in text.split('\n')[:-1]:
        statement = re.match(r'\s*%\s*(.*)', line)
        if not statement:
            pieces = re.split(r'\$\{((?:[^{}]|\{[^{}]*\})*)\}', line + '\n')
            code = ', '.join(repr(p) if i % 2 == 0 else p for i, p in enumerate(pieces))
            program.append('    ' * depth + f'put({code})')
            continue
        code = statement.group(1)
        middle = re.match(r'(else|elif)\b', code)
        depth -= 1 if middle or code == 'end' else 0
        program.append('    ' * depth + ('pass' if code == 'end' else code))
        depth += 1 if code.endswith(':') else 0
    return '\n'.join(program)


def fill(name, values):
    """The text that template NAME gives with VALUES as its variables."""
    path = os.path.join(FOLDER, name)
    with open(path, encoding='ascii') as source:
        program = compile(translate(source.read()), path, 'exec')
    written = []
    exec(program, dict(values, put=lambda *pieces: written.extend(map(str, pieces))))
    return ''.join(written)


def names():
    return sorted(os.listdir(FOLDER))
