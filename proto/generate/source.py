# SPDX-License-Identifier: BSD-3-Clause
"""What the two lists have in common: comments, the line that names the protocol, places of errors."""
import re
import sys


class Line:
    """One line without its comment. `place` is FILE:LINE, for what is wrong with it."""

    def __init__(self, path, number, text):
        self.place = f'{path}:{number}'
        code, _, comment = text.partition('#')
        self.text, self.comment = code.rstrip(), comment.strip()
        self.indented = text[:1].isspace()
        self.words = self.text.split()

    def fail(self, text):
        sys.exit(f'{self.place}: {text}')


    def go_on(self, more):
        self.text += ' ' + ' '.join(more.words)
        self.words += more.words


def read(path):
    """All lines that say something. One that begins with `=` goes on with the line before."""
    with open(path, encoding='ascii') as source:
        lines = [Line(path, number, text) for number, text in enumerate(source, 1)]
    kept = []
    for line in lines:
        if kept and line.words[:1] == ['=']:
            kept[-1].go_on(line)
        elif line.words:
            kept.append(line)
    return kept


class Protocol:
    """`protocol NAME VERSION [OLDEST]`, the first line of a list."""

    def __init__(self, path, lines):
        text = ' '.join(lines[0].words) if lines else ''
        m = re.fullmatch(r'protocol (\w+) (\d+)(?: (\d+))?', text)
        if not m:
            sys.exit(f'{path}:1: the first line must be "protocol NAME VERSION"')
        self.name, self.version = m.group(1), int(m.group(2))
        self.oldest = int(m.group(3) or m.group(2))
