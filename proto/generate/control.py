"""The model of control.spec: constants, enumerations, structures and messages."""
import hashlib
import re

INTEGERS = {'u8': ('uint8_t', 1), 'u16': ('uint16_t', 2), 'u32': ('uint32_t', 4),
            'u64': ('uint64_t', 8), 'i32': ('int32_t', 4)}


class Field:
    def __init__(self, name, kind, argument, comment):
        self.name, self.kind, self.argument, self.comment = name, kind, argument, comment

    @property
    def is_integer(self):
        return self.kind in INTEGERS

    @property
    def c_type(self):
        return INTEGERS[self.kind][0]


class Group:
    """A struct or message: a named list of fields."""

    def __init__(self, name, comment, number=None, is_open=False):
        self.name, self.comment, self.number, self.is_open = name, comment, number, is_open
        self.fields = []


class Spec:
    def __init__(self):
        self.consts, self.enums, self.structs, self.messages = [], {}, {}, []

    @property
    def groups(self):
        return list(self.structs.values()) + self.messages

    def field_max(self, field):
        if field.is_integer:
            return INTEGERS[field.kind][1]
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
    if kind in ('fixed', 'string', 'bytes') and argument and argument.isdigit():
        return Field(words[0], kind, int(argument), line.comment)
    if kind == 'array' and argument:
        struct, limit = [part.strip() for part in argument.split(',')]
        if struct in spec.structs:
            return Field(words[0], kind, (struct, int(limit)), line.comment)
    return line.fail(f'unknown type {" ".join(words[1:])}')


def parse_head(spec, line):
    """A line at the left margin; gives what the indented lines after it belong to."""
    words = line.words
    if words[0] == 'const' and len(words) == 3:
        spec.consts.append((words[1], words[2], line.comment))
    elif words[0] == 'enum' and len(words) == 2:
        spec.enums[words[1]] = []
        return spec.enums[words[1]]
    elif words[0] == 'struct' and len(words) == 2:
        spec.structs[words[1]] = Group(words[1], line.comment)
        return spec.structs[words[1]]
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
            current.fields.append(parse_field(spec, line))
        else:
            line.fail('indented line without a head')
    return spec


def digest(protocol, lines):
    """Of everything that reaches the wire or the code: all words, no comments."""
    total = hashlib.sha256(f'protocol {protocol.name} {protocol.version} {protocol.oldest}\n'.encode())
    for line in lines:
        total.update((' '.join(line.words) + '\n').encode())
    return total.hexdigest()


def read(path, protocol, lines):
    return {'digest': digest(protocol, lines), 'spec': parse(lines)}
