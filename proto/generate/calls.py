# SPDX-License-Identifier: BSD-3-Clause
"""The model of cuda.spec: the calls, their parameters, and what either side makes of them."""
import fnmatch
import re

import lock
import wire

HANDLES = {
    'CUcontext': 'CONTEXT', 'CUstream': 'STREAM', 'CUevent': 'EVENT', 'CUmodule': 'MODULE',
    'CUfunction': 'FUNCTION', 'CUkernel': 'KERNEL', 'CUlibrary': 'LIBRARY',
    'CUmemoryPool': 'POOL', 'CUlinkState': 'LINK', 'CUmemGenericAllocationHandle': 'MEMORY', 'CUarray': 'ARRAY', 'CUmipmappedArray': 'MIPMAP',
    'CUgraph': 'GRAPH', 'CUgraphNode': 'NODE', 'CUgraphExec': 'EXEC', 'CUuserObject': 'USER_OBJECT',
}
# Kinds of objects that end with the context in which they were made.
OF_A_CONTEXT = ('STREAM', 'EVENT', 'MODULE', 'FUNCTION', 'LINK', 'ARRAY', 'MIPMAP')
CLASSES = ('local', 'async', 'sync', 'blocking', 'manual', 'unsupported')
FLAGS = ('wrapped', 'served', 'inner', 'checked', 'unsafe', 'glance', 'touches', 'starts_nothing', 'counted', 'interop')
# Flags that the worker reads while it serves a request: TRAIT_X of `enum serve_trait`.
TRAITS = ('contextless', 'answers', 'brief', 'all_streams', 'implicit_sync', 'self_waiting', 'completes', 'row', 'reads_on', 'urgent',
          'aside')
MARKS = ('opt', 'in', 'inout', 'str', 'new', 'free', 'found', 'bytes', 'reply_bytes', 'address')
# How a scalar travels; every other type by value is an enumeration and travels as int32_t.
SCALARS = {
    'unsigned int': 'uint32_t', 'int': 'int32_t', 'size_t': 'uint64_t', 'CUdeviceptr': 'uint64_t',
    'float': 'float', 'unsigned char': 'uint8_t', 'unsigned short': 'uint16_t',
    'unsigned long long': 'uint64_t', 'cuuint32_t': 'uint32_t', 'cuuint64_t': 'uint64_t',
    'uint32_t': 'uint32_t', 'int32_t': 'int32_t', 'uint64_t': 'uint64_t',
    'CUtexObject': 'uint64_t', 'CUsurfObject': 'uint64_t',
}


class Param:
    def __init__(self, text, line):
        self.marks = set()
        words = text.strip()
        carried_as = re.match(r'as\((\w+)\)\s+', words)
        if carried_as:
            words = words[carried_as.end():]
        made_from = re.match(r'new\((\w+)\)\s+', words)
        if made_from:
            words = 'new ' + words[made_from.end():]
        self.parent = made_from.group(1) if made_from else None
        while True:
            m = re.match(r'(\w+)\s+', words)
            if not m or m.group(1) not in MARKS:
                break
            self.marks.add(m.group(1))
            words = words[m.end():]
        self.bytes = bool(self.marks & {'bytes', 'reply_bytes'})
        if self.bytes:
            self.name, self.type, self.pointers, self.const = words, '', 0, False
            self.array, self.fewer = None, 0
            return
        m = re.match(r'(const )?((?:unsigned |signed )?(?:long )*[\w]+(?: \w+(?=\s*\*))?)\s*(\**)\s*(const\s*\*)?\s*'
                     r'(\w+)(?:\[(?:(\w+)(?:-(\d+))?:(\d+))?\])?$', words)
        if not m:
            line.fail(f'cannot read parameter "{text.strip()}"')
        self.const = bool(m.group(1))
        self.type = m.group(2)
        self.pointers = len(m.group(3)) + (1 if m.group(4) else 0)
        self.name = m.group(5)
        self.array = (m.group(6), int(m.group(8))) if m.group(6) else None
        self.fewer = int(m.group(7) or 0)  # elements than the other parameter says
        self.c_text = re.sub(r'\[.*\]', '', words)
        if carried_as:
            self.type = carried_as.group(1)
        self.cast = f'({self.type} *)' if carried_as else ''
        self.c_type = self.type
        if 'address' in self.marks:
            self.type, self.pointers, self.c_type = 'CUdeviceptr', 0, 'void *'

    @property
    def handle(self):
        return HANDLES.get(self.type)

    @property
    def by_value(self):
        return self.pointers == 0

    @property
    def is_new(self):
        return 'new' in self.marks

    @property
    def is_string(self):
        return 'str' in self.marks

    @property
    def is_in_struct(self):
        return self.pointers == 1 and not self.is_string and not self.array and not self.is_new and \
            (self.const or self.marks & {'in', 'inout'})

    @property
    def is_out(self):
        return self.pointers >= 1 and not self.const and not self.is_new and not self.is_string and \
            'in' not in self.marks

    @property
    def out_type(self):
        if self.type == 'void' and self.pointers == 2:
            return 'uint64_t'
        return SCALARS.get(self.type, self.type)

    @property
    def wire(self):
        if self.handle:
            return 'uint64_t'
        if self.type == 'CUdevice':
            return 'int32_t'
        return SCALARS.get(self.type, 'int32_t')


class Call:
    def __init__(self, line):
        m = re.match(r'(\d+)\s+(\S+)\s+(\w+)\s+(\d+)(?:/(\d+)(?:=(\w+)@(\d+))?)?((?:\+\w+@\d+)*)\s*\((.*?)\)(?: = (.*))?$',
                     line.text.rstrip())
        if not m:
            line.fail('cannot read this line')
        self.number = int(m.group(1))
        self.query = None
        flags = m.group(2)
        asked = re.search(r',asks\((\w+)\)', flags)
        if asked:
            self.query, flags = asked.group(1), flags.replace(asked.group(0), '')
        needed = re.search(r',needs(?:\((\w+)\))?', flags)
        if needed:
            flags = flags.replace(needed.group(0), '')
        words = flags.split(',')
        self.cls, self.flags = words[0], set(words[1:])
        if self.cls not in CLASSES or self.flags - set(FLAGS + TRAITS):
            line.fail(f'no such class or flag: {m.group(2)}')
        self.symbol, self.version = m.group(3), int(m.group(4))
        self.needs = needed and (needed.group(1) or self.symbol)
        self.cupti, self.runtime, self.cupti_of_runtime = m.group(5, 6, 7)
        self.variants = [tuple(v.split('@')) for v in m.group(8).split('+') if v]
        self.is_cuda = self.symbol.startswith('cu') and self.symbol[2].isupper()
        text = m.group(9).strip()
        self.text = text
        self.params = []
        if self.is_sent:
            self.params = [Param(p, line) for p in split_params(text)]
        own_stream = re.search(r'\bCUstream (\w+)', text)
        self.stream_name = own_stream.group(1) if own_stream else None
        self.body = m.group(10)
        if not self.body and self.is_exported:
            self.body = f'remote_{self.symbol}({self.in_stream(self.names, "stream")})'

    @property
    def is_sent(self):
        return self.cls in ('async', 'sync', 'blocking')

    @property
    def base(self):
        return re.sub(r'_v\d+$', '', self.symbol)

    def symbols(self):
        yield self.symbol, self.version, ''
        for suffix, version in self.variants:
            yield f'{self.symbol}_{suffix}', int(version), suffix

    @property
    def is_unsupported(self):
        return self.cls == 'unsupported'

    @property
    def is_driven(self):
        """The worker may call it: what clients may, and what it needs itself."""
        return self.is_cuda and (not self.is_unsupported or 'inner' in self.flags)

    @property
    def served(self):
        return 'served' in self.flags

    @property
    def found(self):
        """What the worker's handler is given, looked up."""
        return [p for p in self.params if 'found' in p.marks]

    @property
    def handler(self):
        """The handler's parameters."""
        reply = f', struct reply_{self.symbol} *reply' if self.outs() else ''
        return f'struct serve *serve, const struct args_{self.symbol} *args{reply}' + \
            ''.join(f', {p.type} {p.name}' for p in self.found)

    @property
    def is_exported(self):
        """The driver's call is the request and nothing else."""
        return self.is_sent and self.is_cuda and 'wrapped' not in self.flags

    def in_stream(self, text, stream, name=None):
        """TEXT with STREAM in the place of the call's stream, or of NAME, where it comes first."""
        name = name or self.stream_name
        return re.sub(rf'\b{name}\b', stream, text, count=1) if name and stream else text

    @property
    def is_another_call(self):
        """The body is a call of CUDA with what this one was given."""
        return self.body and re.fullmatch(r'cu[A-Z]\w+\([^()]*\)', self.body)

    @property
    def has_variant_by_body(self):
        return self.body and re.search(r'\b(stream|per_thread)\b', self.body)

    def is_variant_of_call(self, suffix):
        """The variant is the hand-written call in another stream."""
        return bool(suffix and not self.body and self.stream_name)

    def body_lines(self, suffix):
        """What the call, or its variant for per-thread default streams, does."""
        name, variant = self.stream_name, bool(suffix)
        if re.search(r'\bper_thread\b', self.body):
            yield f'const bool per_thread = {"true" if variant else "false"};'
        if re.search(r'\bstream\b', self.body) and not (name == 'stream' and not variant):
            given = f'stream_per_thread({name or "NULL"})' if variant else name or 'NULL'
            yield f'{"" if name == "stream" else "CUstream "}stream = {given};'
        *steps, last = self.body.split('; ')
        for step in steps:
            yield from step_lines(step)
        if re.match(r'\*\w+ = ', last):
            yield f'{last};'
            last = 'CUDA_SUCCESS'
        yield f'return {last};'

    @property
    def stream(self):
        """The stream in which the call takes its turn."""
        return next((p for p in self.params if not p.bytes and p.type == 'CUstream' and p.by_value),
                    None)

    @property
    def made(self):
        return next((p for p in self.params if p.is_new), None)

    @property
    def c_params(self):
        """The C parameters; bytes are a pointer and a size."""
        out = []
        for p in self.params:
            if 'bytes' in p.marks:
                out += [f'const void *{p.name}', f'size_t {p.name}_size']
            elif 'reply_bytes' in p.marks:
                out += [f'void *{p.name}', f'size_t {p.name}_room', f'size_t *{p.name}_used']
            else:
                out.append(p.c_text)
        return ', '.join(out) or 'void'

    @property
    def prototype(self):
        """As cuda.h declares it."""
        if self.is_sent:
            return ', '.join(p.c_text for p in self.params) or 'void'
        return self.text or 'void'

    @property
    def arguments(self):
        return ', '.join(p.name for p in self.params)

    @property
    def names(self):
        """The arguments of a call by the names of its prototype."""
        return ', '.join(re.search(r'(\w+)(?:\[.*\])?$', p.strip()).group(1)
                         for p in split_params(self.text))

    @property
    def plain(self):
        """The parameters as cuda.h declares them, whether the call is carried or not."""
        return [PlainParam(p) for p in split_params(self.prototype) if p != 'void']

    @property
    def waits_for_gpu(self):
        return self.cls == 'blocking' and 'brief' not in self.flags

    @property
    def completes(self):
        return self.cls == 'blocking' or 'completes' in self.flags

    @property
    def touches(self):
        return 'touches' in self.flags

    @property
    def starts_nothing(self):
        return 'starts_nothing' in self.flags

    @property
    def is_counted(self):
        return 'counted' in self.flags

    def layout(self):
        """Fields of the argument structure, widest first so that there are no holes to leak:
        type, name, dimension, width."""
        fields = []
        for p in self.ins():
            if p.is_string:
                fields.append(('uint32_t', f'{p.name}_length', '', 4))
            elif p.array:
                fields.append((SCALARS.get(p.type, p.type), p.name, f'[{p.array[1]}]', 16))
            elif p.is_in_struct:
                fields.append((SCALARS.get(p.type, p.type), p.name, '', 16))
                if 'opt' in p.marks:
                    fields.append(('uint32_t', f'{p.name}_given', '', 4))
            else:
                width = {'uint64_t': 8, 'uint16_t': 2, 'uint8_t': 1}.get(p.wire, 4)
                fields.append(('uint64_t' if p.is_new else p.wire, p.name, '',
                               8 if p.is_new else width))
        if self.tail('bytes'):
            fields.append(('uint32_t', 'bytes', '', 4))
        if self.tail('reply_bytes'):
            fields.append(('uint32_t', 'reply_room', '', 4))
        return sorted(fields, key=lambda f: -f[3])

    def fields(self):
        """What a fuzzer has to know of each field of the arguments: name, enum request_field_kind, kind of handle."""
        of = {p.name: p for p in self.ins()}
        for kind, name, dimension, width in self.layout():
            p = of.get(name)
            if p is None:
                yield name, 'TAIL' if name == 'bytes' or name.endswith('_length') else 'NUMBER', '0'
            elif p.is_new or (p.handle and p.by_value):
                yield name, 'MINTED' if p.is_new else 'HANDLE', f'HANDLE_{p.handle}'
            elif p.by_value and p.type in ('CUdeviceptr', 'CUdevice'):
                yield name, 'ADDRESS' if p.type == 'CUdeviceptr' else 'DEVICE', '0'
            else:
                yield name, 'STRUCTURE' if width > 8 else 'SIZE' if width == 8 else 'NUMBER', '0'

    @property
    def answered_address(self):
        """The field of the reply that is an address of the GPU; None if there is none."""
        return next((p.name for p in self.outs() if p.type == 'CUdeviceptr'), None)

    def reply_layout(self):
        widths = {'uint64_t': 8, 'int32_t': 4, 'uint32_t': 4, 'float': 4}
        return sorted(self.outs(), key=lambda p: -widths.get(p.out_type, 16))

    def ins(self):
        return [p for p in self.params if not p.bytes and (p.by_value or p.is_in_struct or p.array or
                                                           p.is_new or p.is_string)]

    def outs(self):
        return [p for p in self.params if not p.bytes and p.is_out and not p.array]

    def tail(self, mark):
        return next((p for p in self.params if mark in p.marks), None)

    def parent_of(self, p):
        """The handle with which what this call makes dies, as the worker writes it; '0': none."""
        if p.parent:
            return f'args->{p.parent}'
        return 'serve_context(serve)' if p.handle in OF_A_CONTEXT else '0'

    def traits(self):
        names = [t for t in TRAITS if t in self.flags]
        return ' | '.join(f'TRAIT_{t.upper()}' for t in names) or '0'

    @property
    def string(self):
        return next((p for p in self.params if p.is_string), None)

    @property
    def form(self):
        """Tells forms of the request and its reply apart. How a side goes about the call does not count."""
        fields = [(p.type, p.pointers, p.name, p.array, p.fewer, sorted(p.marks - {'free', 'found'})) for p in self.params]
        return wire.short_hash(f'{self.symbol} {fields}')

    @property
    def locked(self):
        """What stays as it is once a release has sent it."""
        return f'{self.number}:{self.form}'


# What a step of a body finds that is no `struct object *`.
FOUND = {'state': 'struct old_launch **', 'found': 'struct found_stream '}


def check_lines(expression):
    return ['{', f'    const CUresult checked = {expression};', '    if (checked != CUDA_SUCCESS)', '        return checked;', '}']


def step_lines(step):
    """A step of a call's body but the last, in C."""
    word, _, rest = step.partition(' ')
    if step == 'ready':
        return check_lines('process_ready()')
    if word == 'check':
        return check_lines(rest)
    if word == 'given':
        return [f'if (!({rest}))', '    return CUDA_ERROR_INVALID_VALUE;']
    if word == 'device':
        return step_lines('ready') + [f'const struct wire_device *device = session_device({rest});', 'if (!device)',
                                      '    return CUDA_ERROR_INVALID_DEVICE;']
    if rest.startswith('from '):
        call = re.sub(r'(\(?)\)$', lambda m: f'(&{word})' if m.group(1) else f', &{word})', rest[5:])
        return [f'{FOUND.get(word, "struct object *")}{word} __attribute__((unused));'] + check_lines(call)
    return [f'{step};']


class PlainParam:
    """A parameter of the C prototype: its type, the type that pointers lead to, its name."""
    STRUCTURES = ('CUmemLocation', 'CUipcMemHandle', 'CUipcEventHandle')
    FUNCTIONS = ('CUhostFn', 'CUstreamCallback', 'CUoccupancyB2DSize', 'CUasyncCallback', 'CUlogsCallback')
    ADDRESSES = ('CUdeviceptr', 'CUdeviceptr_v1')
    HANDLES = tuple(HANDLES) + (
        'CUarray', 'CUmipmappedArray', 'CUtexref', 'CUsurfref', 'CUgraph', 'CUgraphNode', 'CUgraphExec',
        'CUuserObject', 'CUgreenCtx', 'CUdevResourceDesc', 'CUgraphicsResource', 'CUexternalMemory',
        'CUexternalSemaphore', 'CUasyncCallbackHandle', 'CUlogsCallbackHandle', 'CUtexObject',
        'CUsurfObject', 'CUmemGenericAllocationHandle', 'CUgraphConditionalHandle')

    def __init__(self, text):
        m = re.match(r'(.*?)(\w+)$', text.strip(), re.S)
        self.type, self.name = m.group(1).strip(), m.group(2)
        self.base = self.type.replace('*', ' ').replace('const ', '').strip()
        self.pointers = self.type.count('*')

    @property
    def kind(self):
        for names, kind in ((self.HANDLES, 'HANDLE'), (self.ADDRESSES, 'ADDRESS'), (('CUdevice',), 'DEVICE'),
                            (self.FUNCTIONS, 'FUNCTION'), (self.STRUCTURES, 'STRUCTURE'), (('float',), 'REAL'),
                            (tuple(SCALARS) + ('unsigned',), 'NUMBER')):
            if self.pointers:
                return 'POINTER'
            if self.base in names:
                return kind
        return 'ENUMERATION'

    def passed(self, argument):
        """The argument as it is handed over: a word, or where a structure or a float lies."""
        if self.kind == 'STRUCTURE':
            return f'*(const {self.type} *)(uintptr_t){argument}.word'
        return f'{argument}.real' if self.kind == 'REAL' else f'({self.type})(uintptr_t){argument}.word'


class Refusal:
    """`refused PATTERN...: WHY` of a group of calls."""

    def __init__(self, line):
        patterns, colon, self.why = line.text.partition(':')
        self.patterns, self.why = patterns.split()[1:], self.why.strip()
        if not self.patterns or not self.why:
            line.fail('a refusal is: refused PATTERN...: WHY')

    def is_of(self, symbol):
        return any(fnmatch.fnmatchcase(symbol, p) for p in self.patterns)


def reason_of(call, reasons, line):
    for reason in reasons:
        if reason.is_of(call.symbol):
            return reason.why
    line.fail(f'{call.symbol} is unsupported, and no line says why')


def split_params(text):
    return [p for p in re.split(r',\s*(?![^()]*\))', text) if p.strip()] if text else []


def parse(lines):
    calls, numbers, names, reasons = [], set(), set(), []
    for line in lines:
        if line.words[0] == 'refused':
            reasons.append(Refusal(line))
            continue
        call = Call(line)
        if call.is_unsupported:
            call.reason = reason_of(call, reasons, line)
        if call.number in numbers or call.symbol in names:
            line.fail(f'number or name used twice: {call.number} {call.symbol}')
        numbers.add(call.number)
        names.add(call.symbol)
        calls.append(call)
    return calls


def read(path, protocol, lines):
    calls = parse(lines)
    sent = [c for c in calls if c.is_sent]
    facts = {('call', c.symbol): c.locked for c in sent}
    return {'facts': facts | wire.facts(), 'may_grow': set(), 'calls': calls, 'traits': TRAITS,
            'cuda': [c for c in calls if c.is_cuda], 'sent': sent, 'known_first': lock.known_first('call'),
            'limit': max((c.number for c in calls), default=0) + 1}
