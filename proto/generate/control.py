# SPDX-License-Identifier: BSD-3-Clause
"""The model of control.spec: constants, enumerations, structures, settings and messages."""
import hashlib
import re

INTEGERS = {'u8': ('uint8_t', 1), 'u16': ('uint16_t', 2), 'u32': ('uint32_t', 4),
            'u64': ('uint64_t', 8), 'i32': ('int32_t', 4)}
# A setting's field: its type in C, its bytes on the wire, and the macro of its row (common/service/config.h).
SETTINGS = {'bool': ('bool', 1, 'CONFIG_BOOL'), 'choice': ('int', 1, 'CONFIG_ENUM'),
            'int': ('int64_t', 8, 'CONFIG_INT'), 'size': ('uint64_t', 8, 'CONFIG_SIZE'),
            'duration': ('uint64_t', 8, 'CONFIG_DURATION')}
FIRST_OF_WORKERS = 32  # number of a message between rgpud and its workers
BEFORE_SESSIONS = ('setup', 'ready', 'failed', 'grant')  # of these, those that a worker with a session is past
UNITS = {'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}


class Field:
    is_later = False  # a peer of an older release leaves it out: zero, or empty

    def __init__(self, name, kind, argument, comment):
        self.name, self.kind, self.argument, self.comment = name, kind, argument, comment
        self.text = ''  # as it stands in the list

    @property
    def is_integer(self):
        return self.kind in INTEGERS

    @property
    def c_type(self):
        return INTEGERS[self.kind][0]


class Setting(Field):
    """A field that is a setting, too: default, limits and, as its comment, the help."""

    def __init__(self, name, kind, words, default, limits, help_text):
        super().__init__(name, kind, words, help_text)
        self.default, self.limits = default, limits

    @property
    def c_type(self):
        return SETTINGS[self.kind][0]

    def row(self, section):
        """The row of the table, but for the structure and field that it is in."""
        more, limits = [], dict(self.limits)
        if self.kind == 'choice':
            more.append('((const char *const[]){%s, NULL})' % ', '.join(f'"{w}"' for w in self.argument))
        if self.kind == 'int':
            more += [str(limits.pop('min')), str(limits.pop('max'))]
        more.append(f'"{self.comment}"')
        more += [f'.{n} = "{v}"' if n == 'word' else f'.{n} = {v}' for n, v in limits.items()]
        return (f'{SETTINGS[self.kind][2]}("{section}", "{self.name}", type_, member_.{self.name}, '
                f'"{self.default}", {", ".join(more)})')


class Group:
    """A struct, message or group of settings: a named list of fields."""

    section = None  # of the settings, in the file

    def __init__(self, name, comment, number=None, is_open=False):
        self.name, self.comment, self.number, self.is_open = name, comment, number, is_open
        self.fields = []

    @property
    def text(self):
        return ','.join(f.text for f in self.fields)


class Spec:
    def __init__(self):
        self.consts, self.enums, self.structs, self.messages = [], {}, {}, []
        self.settings, self.transports, self.open_enums = {}, [], set()

    @property
    def transport_words(self):
        return ', '.join(name for name, _ in self.transports)

    @property
    def groups(self):
        return list(self.structs.values()) + list(self.settings.values()) + self.messages

    def field_max(self, field):
        if field.is_integer:
            return INTEGERS[field.kind][1]
        if isinstance(field, Setting):
            return SETTINGS[field.kind][1]
        if field.kind == 'settings':
            return self.group_max(self.settings[field.argument])
        if field.kind == 'enum':
            return 1
        if field.kind == 'fixed':
            return field.argument
        if field.kind in ('string', 'bytes'):
            return 4 + field.argument
        struct, limit = field.argument
        return 4 + limit * self.group_max(self.structs[struct])

    def group_max(self, group):
        """The longest body in bytes."""
        return sum(self.field_max(field) for field in group.fields)


def parse_field(spec, line):
    words = line.words
    match = re.fullmatch(r'(\w+)(?:\((.*)\))?', ' '.join(words[1:]))
    if len(words) < 2 or not match:
        line.fail('expected: name type')
    kind, argument = match.group(1), match.group(2)
    if kind in INTEGERS and argument is None:
        return Field(words[0], kind, None, line.comment)
    if kind in spec.enums and argument is None:
        return Field(words[0], 'enum', kind, line.comment)
    if kind in spec.settings and argument is None:
        return Field(words[0], 'settings', kind, line.comment)
    if kind in ('fixed', 'string', 'bytes') and argument and argument.isdigit():
        return Field(words[0], kind, int(argument), line.comment)
    if kind == 'array' and argument:
        struct, limit = [part.strip() for part in argument.split(',')]
        if struct in spec.structs:
            return Field(words[0], kind, (struct, int(limit)), line.comment)
    return line.fail(f'unknown type {" ".join(words[1:])}')


def parse_field_of(group, spec, line):
    """A field in its place: what came later is the end of a message that may be longer."""
    words = list(line.words)
    is_later = words[-1] == 'later'
    line.words = words[:-1] if is_later else words
    field = parse_field(spec, line)
    line.words = words
    field.is_later, field.text = is_later, '/'.join(''.join(word.split()) for word in words)
    if is_later and (not group.is_open or field.kind in ('bytes', 'array', 'settings')):
        line.fail('only an open message can have a later field, which is a number, a name or a text')
    if not is_later and group.fields and group.fields[-1].is_later:
        line.fail('a field behind a later one must be later, too')
    return field


def number_of(line, text):
    match = re.fullmatch(r'(-?\d+)([KMG]?)', text)
    return int(match.group(1)) * UNITS.get(match.group(2), 1) if match else line.fail(f'{text} is no number')


def parse_setting(line):
    """NAME TYPE DEFAULT [MIN..MAX] [step=SIZE] [word=WORD] [reloadable] [developer]  # help"""
    match = re.fullmatch(r'(\w+)(?:\(([\w,]+)\))?', line.words[1]) if len(line.words) > 2 else None
    if not match or match.group(1) not in SETTINGS or not line.comment or '"' in line.comment:
        line.fail('expected: name type default [limits]  # help')
    kind, words, limits = match.group(1), (match.group(2) or '').split(','), {}
    for word in line.words[3:]:
        name, _, value = word.partition('=')
        if '..' in word:
            limits['min'], limits['max'] = [number_of(line, end) for end in word.split('..')]
        elif word in ('reloadable', 'developer'):
            limits[word] = 'true'
        elif name == 'word' and value:
            limits[name] = value
        elif name in ('min', 'step'):
            limits[name] = number_of(line, value)
        else:
            line.fail(f'not understood: {word}')
    if (kind == 'choice') != bool(match.group(2)) or (kind == 'int' and 'max' not in limits):
        line.fail('a choice has words, an int its limits MIN..MAX')
    return Setting(line.words[0], kind, words, line.words[2], limits, line.comment)


def parse_head(spec, line):
    """A line at the left margin; gives what the indented lines after it belong to."""
    words = line.words
    if words[0] == 'const' and len(words) == 3:
        spec.consts.append((words[1], words[2], line.comment))
    elif words[0] == 'enum' and (len(words) == 2 or words[2:] == ['open']):
        spec.open_enums.update(words[1:2] if len(words) == 3 else [])
        spec.enums[words[1]] = []
        return spec.enums[words[1]]
    elif words[0] == 'struct' and len(words) == 2:
        spec.structs[words[1]] = Group(words[1], line.comment)
        return spec.structs[words[1]]
    elif words[0] == 'settings' and len(words) == 3:
        spec.settings[words[1]] = Group(words[1], line.comment)
        spec.settings[words[1]].section = words[2]
        return spec.settings[words[1]]
    elif words[0] == 'transport' and len(words) == 2 and line.comment and '"' not in line.comment:
        spec.transports.append((words[1], line.comment))
    elif words[0] == 'message' and len(words) in (3, 4):
        message = Group(words[2].lower(), line.comment, int(words[1]), words[3:] == ['open'])
        if any(message.number == m.number or message.name == m.name for m in spec.messages):
            line.fail(f'message {words[2]} or its number is there twice')
        spec.messages.append(message)
        return message
    else:
        line.fail(f'not understood: {" ".join(words)}')
    return None


def parse(lines):
    spec, current = Spec(), None
    for line in lines:
        if not line.indented:
            current = parse_head(spec, line)
        elif isinstance(current, list) and len(line.words) == 2:
            current.append((line.words[0], int(line.words[1]), line.comment))
        elif isinstance(current, Group):
            setting = current.section is not None
            current.fields.append(parse_setting(line) if setting else parse_field_of(current, spec, line))
            # What a setting is by default, and may be, does not reach the wire.
            line.words = line.words[:2] if setting else line.words
        else:
            line.fail('indented line without a head')
    return spec


def digest(protocol, lines):
    """Of everything that reaches the wire or the code: all words, no comments; transports are known by name."""
    total = hashlib.sha256(f'protocol {protocol.name} {protocol.version} {protocol.oldest}\n'.encode())
    for line in lines:
        if line.indented or line.words[0] != 'transport':
            total.update((' '.join(line.words) + '\n').encode())
    return total.hexdigest()[:16]


def session_digest(spec):
    """Of what rgpud says to a worker that has a session, hears of it, and keeps of it for the next rgpud."""
    found = said_by([m for m in spec.messages if m.number >= FIRST_OF_WORKERS and m.name not in BEFORE_SESSIONS], spec)
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()[:16]


def facts(spec):
    """What client and box say to each other. Supervisor and worker are of one package, and compare digests."""
    spoken = [m for m in spec.messages if m.number < FIRST_OF_WORKERS]
    may_grow = {('message', m.name.upper()) for m in spoken if m.is_open} | {('enum', e) for e in spec.open_enums}
    return {'facts': said_by(spoken, spec), 'may_grow': may_grow}


def said_by(spoken, spec):
    """These messages with all that they are made of."""
    used = [f for m in spoken for f in m.fields]
    structs = [spec.structs[f.argument[0]] for f in used if f.kind == 'array']
    used += [f for s in structs for f in s.fields]
    enums = sorted({f.argument for f in used if f.kind == 'enum'})
    found = {('message', m.name.upper()): f'{m.number}:{m.text}' for m in spoken}
    found.update({('struct', s.name): s.text for s in structs})
    found.update({('enum', e): ','.join(f'{name}={value}' for name, value, _ in spec.enums[e]) for e in enums})
    found.update({('open', m.name.upper()): 'yes' for m in spoken if m.is_open})
    return found


def read(path, protocol, lines):
    spec = parse(lines)
    return dict(facts(spec), digest=digest(protocol, lines), session_digest=session_digest(spec), spec=spec)
