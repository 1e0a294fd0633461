#!/usr/bin/env python3
"""Generates both sides of the CUDA call stream from proto/cuda.spec (see there for the format).

usage: gen_cuda.py SPEC KIND > FILE      KIND: one of the functions named emit_KIND below
       gen_cuda.py SPEC check [LOCK]     compare with the lock file (default: version.lock)
       gen_cuda.py SPEC lock [LOCK]      enter the spec's version into it
"""
import hashlib
import os
import re
import sys

import version_lock

HANDLES = {
    'CUcontext': 'CONTEXT', 'CUstream': 'STREAM', 'CUevent': 'EVENT', 'CUmodule': 'MODULE',
    'CUfunction': 'FUNCTION', 'CUkernel': 'KERNEL', 'CUlibrary': 'LIBRARY',
    'CUmemoryPool': 'POOL', 'CUlinkState': 'LINK',
}
# Kinds of objects that end with the context in which they were made.
OF_A_CONTEXT = ('STREAM', 'EVENT', 'MODULE', 'FUNCTION', 'LINK')
CLASSES = ('local', 'async', 'sync', 'blocking', 'manual', 'unsupported')
FLAGS = ('wrapped', 'served', 'inner', 'checked')
# Flags that the worker reads while it serves a request: TRAIT_X of `enum serve_trait`.
TRAITS = ('contextless', 'answers', 'brief', 'self_waiting', 'completes', 'row', 'reads_on', 'urgent')
MARKS = ('opt', 'in', 'inout', 'str', 'new', 'free', 'bytes', 'reply_bytes', 'address')
# How a scalar travels; every other type by value is an enumeration and travels as int32_t.
SCALARS = {
    'unsigned int': 'uint32_t', 'int': 'int32_t', 'size_t': 'uint64_t', 'CUdeviceptr': 'uint64_t',
    'float': 'float', 'unsigned char': 'uint8_t', 'unsigned short': 'uint16_t',
    'unsigned long long': 'uint64_t', 'cuuint32_t': 'uint32_t', 'cuuint64_t': 'uint64_t',
    'uint32_t': 'uint32_t', 'int32_t': 'int32_t', 'uint64_t': 'uint64_t',
}


class Param:
    def __init__(self, text, where):
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
            self.array = None
            return
        m = re.match(r'(const )?((?:unsigned |signed )?(?:long )*[\w]+(?: \w+(?=\s*\*))?)\s*(\**)\s*(const\s*\*)?\s*'
                     r'(\w+)(?:\[(?:(\w+):(\d+))?\])?$', words)
        if not m:
            raise SystemExit(f'{where}: cannot read parameter "{text.strip()}"')
        self.const = bool(m.group(1))
        self.type = m.group(2)
        self.pointers = len(m.group(3)) + (1 if m.group(4) else 0)
        self.name = m.group(5)
        self.array = (m.group(6), int(m.group(7))) if m.group(6) else None
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
    def __init__(self, line, where):
        m = re.match(r'(\d+)\s+(\S+)\s+(\w+)\s+(\d+)((?:\+\w+@\d+)*)\s*\((.*)\)\s*$', line)
        if not m:
            raise SystemExit(f'{where}: cannot read this line')
        self.number = int(m.group(1))
        self.query = None
        flags = m.group(2)
        asked = re.search(r',asks\((\w+)\)', flags)
        if asked:
            self.query, flags = asked.group(1), flags.replace(asked.group(0), '')
        words = flags.split(',')
        self.cls, self.flags = words[0], set(words[1:])
        if self.cls not in CLASSES or self.flags - set(FLAGS + TRAITS):
            raise SystemExit(f'{where}: no such class or flag: {m.group(2)}')
        self.symbol, self.version = m.group(3), int(m.group(4))
        self.variants = [tuple(v.split('@')) for v in m.group(5).split('+') if v]
        self.is_cuda = self.symbol.startswith('cu') and self.symbol[2].isupper()
        text = m.group(6).strip()
        self.text = text
        self.params = []
        if self.is_sent:
            self.params = [Param(p, where) for p in split_params(text)]

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


def split_params(text):
    return [p for p in re.split(r',\s*(?![^()]*\))', text) if p.strip()] if text else []


def protocol(path):
    """The version that the spec gives itself, and a digest of all that travels: the calls, and the
    structures of wire.h beside it. Comments, layout and how a side goes about a call do not count."""
    with open(path) as f:
        lines = [' '.join(line.split()) for line in f if line.strip() and not line.startswith('#')]
    lines = [re.sub(r'^(\d+ \w+)\S*', r'\1', line).replace('new(', 'new (') for line in lines]
    lines = [re.sub(r'new \(\w+\)', 'new', line) for line in lines]
    m = re.match(r'protocol calls (\d+)$', lines[0]) if lines else None
    if not m:
        raise SystemExit(f'{path}: the first line must be "protocol calls VERSION"')
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'wire.h')) as f:
        wire = re.sub(r'/\*.*?\*/', '', re.sub(r'//[^\n]*', '', f.read()), flags=re.S)
    text = '\n'.join(lines[1:]) + '\n' + ' '.join(wire.split())
    return int(m.group(1)), hashlib.sha256(text.encode()).hexdigest()


def read_spec(path):
    calls, numbers, names = [], set(), set()
    with open(path) as f:
        for i, line in enumerate(f, 1):
            line = line.rstrip('\n')
            if not line.strip() or line.startswith(('#', 'protocol ')):
                continue
            call = Call(line, f'{path}:{i}')
            if call.number in numbers or call.symbol in names:
                raise SystemExit(f'{path}:{i}: number or name used twice: {call.number} {call.symbol}')
            numbers.add(call.number)
            names.add(call.symbol)
            calls.append(call)
    return calls


GENERATED = '/* Generated by proto/gen_cuda.py from proto/cuda.spec. */'


def layout(call):
    """Argument structure fields, widest first so that there are no holes to leak."""
    fields = []
    for p in call.ins():
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
            fields.append(('uint64_t' if p.is_new else p.wire, p.name, '', 8 if p.is_new else width))
    if call.tail('bytes'):
        fields.append(('uint32_t', 'bytes', '', 4))
    if call.tail('reply_bytes'):
        fields.append(('uint32_t', 'reply_room', '', 4))
    return sorted(fields, key=lambda f: -f[3])


def emit_ops_h(calls):
    print(GENERATED, '\n#ifndef GEN_CUDA_OPS_H\n#define GEN_CUDA_OPS_H')
    print('#include <stdint.h>\n#include "proto/cuda_abi.h"\n')
    print('enum cuda_op {')
    for c in calls:
        print(f'    OP_{c.symbol} = {c.number},')
    print(f'}};\n#define CALL_PROTOCOL_VERSION {protocol(sys.argv[1])[0]}')
    print(f'#define CUDA_OP_LIMIT {max(c.number for c in calls) + 1}')
    print('const char *cuda_op_name(unsigned int op);\n')
    for c in calls:
        if not c.is_sent:
            continue
        fields = layout(c)
        print(f'struct args_{c.symbol} {{')
        for t, name, dim, _ in fields:
            print(f'    {t} {name}{dim};')
        if not fields:
            print('    uint8_t none[0];')
        print('} __attribute__((aligned(8)));')
        if c.outs():
            print(f'struct reply_{c.symbol} {{')
            for p in sorted(c.outs(), key=lambda p: -{'uint64_t': 8, 'int32_t': 4, 'uint32_t': 4,
                                                      'float': 4}.get(p.out_type, 16)):
                print(f'    {p.out_type} {p.name};')
            print('} __attribute__((aligned(8)));')
    print('#endif')


def emit_ops_c(calls):
    print(GENERATED, '\n#include "cuda_ops.h"\n')
    print('static const char *const names[CUDA_OP_LIMIT] = {')
    for c in calls:
        print(f'    [{c.number}] = "{c.symbol}",')
    print('};\n\nconst char *cuda_op_name(unsigned int op)\n{')
    print('    return op < CUDA_OP_LIMIT && names[op] ? names[op] : "unknown";\n}')


def c_params(call):
    out = []
    for p in call.params:
        if 'bytes' in p.marks:
            out += [f'const void *{p.name}', f'size_t {p.name}_size']
        elif 'reply_bytes' in p.marks:
            out += [f'void *{p.name}', f'size_t {p.name}_room', f'size_t *{p.name}_used']
        else:
            out.append(p.c_text)
    return ', '.join(out) or 'void'


def c_args(call):
    return ', '.join(p.name for p in call.params)


def remote_name(call):
    return call.symbol if call.is_cuda and 'wrapped' not in call.flags else f'remote_{call.symbol}'


def stream_param(call):
    return next((p for p in call.params if not p.bytes and p.type == 'CUstream' and p.by_value), None)


def emit_client_h(calls):
    print(GENERATED, '\n#ifndef GEN_CLIENT_CALLS_H\n#define GEN_CLIENT_CALLS_H')
    print('#include <stdbool.h>\n#include <stddef.h>\n#include "cuda_ops.h"\n')
    for c in calls:
        if c.is_sent and remote_name(c).startswith('remote_'):
            print(f'CUresult {remote_name(c)}({c_params(c)});')
    print()
    for c in calls:
        if c.cls == 'unsupported' or not c.is_cuda:
            continue
        text = c.text if not c.is_sent else c_params(c)
        for symbol, _, _ in c.symbols():
            print(f'RGPU_EXPORT CUresult {symbol}({text or "void"});')
    print('#endif')


def emit_client_c(calls):
    print(GENERATED, '\n#include "client-lib/exports.h"\n#include "client-lib/call.h"\n#include <string.h>\n')
    for c in calls:
        if c.is_sent:
            client_call(c)


def client_call(c):
    name = remote_name(c)
    stream = stream_param(c)
    variants = c.variants if not name.startswith('remote_') else []
    body = f'stub_{c.symbol}' if variants else name
    per_thread = ', bool per_thread' if variants else ''
    proto = c_params(c)
    if variants:
        proto = proto.replace('void', '', 1) if proto == 'void' else proto
        print(f'static CUresult {body}({proto}{per_thread})\n{{')
    else:
        print(f'CUresult {name}({proto})\n{{')
    print(f'    struct call call;\n    call_begin(&call, OP_{c.symbol});')
    tail_in, tail_out = c.tail('bytes'), c.tail('reply_bytes')
    for p in c.params:
        if p.bytes:
            continue
        if p.is_new:
            print(f'    if (!{p.name})\n        call_fail(&call, CUDA_ERROR_INVALID_VALUE);')
        elif p.is_string or p.array or (p.pointers and 'opt' not in p.marks):
            cond = f'!{p.name}' if not p.array else f'(!{p.name} && {p.array[0]})'
            print(f'    if ({cond})\n        call_fail(&call, CUDA_ERROR_INVALID_VALUE);')
        if p.array:
            print(f'    if ({p.array[0]} > {p.array[1]})\n        call_fail(&call, CUDA_ERROR_INVALID_VALUE);')
    for p in c.params:
        if p.bytes or not p.by_value:
            continue
        if p.type == 'CUstream' and p is stream and 'free' not in p.marks:
            flag = 'per_thread' if variants else 'false'
            print(f'    uint64_t wire_{p.name} = call_stream(&call, {p.name}, {flag});')
        elif p.type == 'CUstream' and 'free' not in p.marks:
            print(f'    uint64_t wire_{p.name} = call_stream(&call, {p.name}, false);')
        elif p.handle:
            print(f'    uint64_t wire_{p.name} = call_handle(&call, HANDLE_{p.handle}, {p.name});')
        elif p.type == 'CUdevice':
            print(f'    int32_t wire_{p.name} = call_device(&call, {p.name});')
    for p in c.params:
        if p.is_new:
            print(f'    uint64_t wire_{p.name} = call_mint(&call, HANDLE_{p.handle});')
    size = f'sizeof(struct args_{c.symbol})'
    s = c.string
    if s:
        print(f'    size_t {s.name}_length = {s.name} ? strlen({s.name}) + 1 : 0;')
        size += f' + {s.name}_length'
    if tail_in:
        size += f' + {tail_in.name}_size'
    print(f'    struct args_{c.symbol} *args = call_reserve(&call, {size});')
    new = [p for p in c.params if p.is_new]
    print('    if (!args)')
    if new:
        print(f'        return call_unmint(&call, wire_{new[0].name});')
    else:
        print('        return call.result;')
    for p in c.ins():
        if p.is_string:
            print(f'    args->{p.name}_length = (uint32_t)({p.name}_length);')
        elif p.array:
            print(f'    memset(args->{p.name}, 0, sizeof(args->{p.name}));')
            print(f'    if ({p.array[0]})\n        memcpy(args->{p.name}, {p.name}, {p.array[0]} * sizeof({p.name}[0]));')
        elif p.is_in_struct:
            if 'opt' in p.marks:
                print(f'    args->{p.name}_given = {p.name} != NULL;')
                print(f'    if ({p.name})\n        args->{p.name} = *{p.name};\n    else\n        memset(&args->{p.name}, 0, sizeof(args->{p.name}));')
            else:
                print(f'    args->{p.name} = *{p.cast}{p.name};')
        elif p.handle or p.type == 'CUdevice':
            print(f'    args->{p.name} = wire_{p.name};')
        else:
            print(f'    args->{p.name} = ({p.wire}){"(uintptr_t)" if p.c_type == "void *" else ""}{p.name};')
    if tail_in:
        print(f'    args->bytes = (uint32_t){tail_in.name}_size;')
    if tail_out:
        print(f'    args->reply_room = (uint32_t){tail_out.name}_room;')
    if s:
        print(f'    memcpy(args + 1, {s.name}, {s.name}_length);')
    if tail_in:
        print(f'    if ({tail_in.name}_size)\n        memcpy(args + 1, {tail_in.name}, {tail_in.name}_size);')
    if c.cls == 'async':
        print('    CUresult outcome = call_post(&call);')
    else:
        outs = c.outs()
        if outs:
            print(f'    struct reply_{c.symbol} reply;')
        reply = '&reply, sizeof(reply)' if outs else 'NULL, 0'
        if tail_out:
            print(f'    CUresult outcome = call_wait_bytes(&call, {reply}, {tail_out.name}, {tail_out.name}_room, {tail_out.name}_used);')
        else:
            print(f'    CUresult outcome = call_wait(&call, {reply});')
        if outs:
            print('    if (outcome == CUDA_SUCCESS) {')
            for p in outs:
                cast = '(void *)(uintptr_t)' if p.type == 'void' else ''
                guard = f'if ({p.name})\n            ' if 'opt' in p.marks else ''
                print(f'        {guard}*{p.cast}{p.name} = {cast}reply.{p.name};')
            print('    }')
    if new:
        p = new[0]
        print(f'    if (outcome != CUDA_SUCCESS)\n        handle_retire(wire_{p.name});\n    else\n        *{p.name} = ({p.type})(uintptr_t)wire_{p.name};')
    for p in c.params:
        if 'free' in p.marks:
            print(f'    if (outcome == CUDA_SUCCESS)\n        handle_retire(wire_{p.name});')
    print('    return outcome;\n}\n')
    if variants:
        args = c_args(c)
        print(f'CUresult {c.symbol}({c_params(c)})\n{{\n    return {body}({args}, false);\n}}\n')
        for suffix, _ in variants:
            print(f'CUresult {c.symbol}_{suffix}({c_params(c)})\n{{\n    return {body}({args}, true);\n}}\n')


def emit_client_unsupported(calls):
    """Calls that the client library does not carry: refused, and named once in the log."""
    print(GENERATED, '\n#include "client-lib/unsupported.h"\n')
    for c in calls:
        if c.cls == 'unsupported':
            for symbol, _, _ in c.symbols():
                print(f'UNSUPPORTED({symbol})')


def emit_weak_unsupported(calls):
    """Every driver symbol as a weak function that refuses; a strong definition elsewhere replaces it."""
    print(GENERATED, '\n#include "proto/cuda_abi.h"\n')
    print('#define REFUSE(symbol) \\\n    __attribute__((weak, visibility("default"))) CUresult symbol(void); \\\n'
          '    CUresult symbol(void) { return CUDA_ERROR_NOT_SUPPORTED; }\n')
    for c in calls:
        if c.is_cuda:
            for symbol, _, _ in c.symbols():
                print(f'REFUSE({symbol})')


def emit_proc_table(calls):
    print(GENERATED, '\n#include "common/driver/proc_address.h"\n')
    rows = []
    for c in calls:
        if c.is_cuda:
            for symbol, version, suffix in c.symbols():
                rows.append((c.base, version, suffix, symbol))
    rows.sort()
    for _, _, _, symbol in rows:
        print(f'extern void {symbol}(void);')
    print('\nconst struct rgpu_proc_entry rgpu_proc_table[] = {')
    for base, version, suffix, symbol in rows:
        print(f'    {{"{base}", {version}, {1 if suffix else 0}, (void *){symbol}}},')
    print('};\nconst size_t rgpu_proc_count = sizeof(rgpu_proc_table) / sizeof(rgpu_proc_table[0]);')


def emit_symbols(calls):
    for c in calls:
        if c.is_cuda:
            for symbol, _, _ in c.symbols():
                print(symbol)


def emit_version_script(calls):
    print('{\n  global:\n    rgpu_*_marker;')
    for c in calls:
        if c.is_cuda:
            for symbol, _, _ in c.symbols():
                print(f'    {symbol};')
    print('  local: *;\n};')


def driver_calls(calls):
    """Driver functions that the worker may call: what clients may, and what it needs itself."""
    return [c for c in calls if c.is_cuda and (c.cls != 'unsupported' or 'inner' in c.flags)]


def emit_worker_driver_h(calls):
    print(GENERATED, '\n#ifndef GEN_WORKER_DRIVER_H\n#define GEN_WORKER_DRIVER_H')
    print('#include <stddef.h>\n#include "proto/cuda_abi.h"\n')
    print('/* The driver library\'s functions, found by name when it is loaded; NULL where it has none. */')
    print('struct driver {')
    for c in driver_calls(calls):
        print(f'    CUresult (*{c.symbol})({c_params(c) if c.is_sent else c.text or "void"});')
    print('};\nextern struct driver driver;\n')
    print('struct driver_symbol {\n    const char *name;\n    size_t offset;\n};')
    print('extern const struct driver_symbol driver_symbols[];\nextern const size_t driver_symbol_count;\n#endif')


def emit_worker_driver_c(calls):
    print(GENERATED, '\n#include "worker_driver.h"\n')
    print('struct driver driver;\nconst struct driver_symbol driver_symbols[] = {')
    for c in driver_calls(calls):
        print(f'    {{"{c.symbol}", offsetof(struct driver, {c.symbol})}},')
    print('};\nconst size_t driver_symbol_count = sizeof(driver_symbols) / sizeof(driver_symbols[0]);')


def emit_worker_h(calls):
    print(GENERATED, '\n#ifndef GEN_WORKER_SERVE_H\n#define GEN_WORKER_SERVE_H')
    print('#include "cuda_ops.h"\n#include "daemon/worker/serve.h"\n')
    print('enum serve_trait { /* what they say: proto/cuda.spec */')
    for i, trait in enumerate(TRAITS):
        print(f'    TRAIT_{trait.upper()} = 1 << {i},')
    print('};\n')
    for c in calls:
        if c.is_sent and 'served' in c.flags:
            extra = f', struct reply_{c.symbol} *reply' if c.outs() else ''
            print(f'void serve_{c.symbol}(struct serve *serve, const struct args_{c.symbol} *args{extra});')
        if 'checked' in c.flags:
            print(f'bool check_{c.symbol}(const void *args);')
    print('#endif')


def emit_worker_c(calls):
    print(GENERATED, '\n#include "worker_serve.h"\n#include "worker_driver.h"\n#include <string.h>\n')
    for c in calls:
        if c.is_sent:
            worker_call(c)
    for c in calls:
        if c.query:
            worker_query(c)
    print('const struct serve_entry serve_table[CUDA_OP_LIMIT] = {')
    for c in calls:
        if not c.is_sent:
            continue
        kind = 'SERVE_BLOCKING' if c.cls == 'blocking' else 'SERVE_SYNC' if c.cls == 'sync' else 'SERVE_ASYNC'
        tail = 'true' if c.string or c.tail('bytes') else 'false'
        query = f'query_{c.symbol}' if c.query else 'NULL'
        check = f'check_{c.symbol}' if 'checked' in c.flags else 'NULL'
        print(f'    [{c.number}] = {{handle_{c.symbol}, {check}, {query}, {kind}, {c.traits()},\n'
              f'        sizeof(struct args_{c.symbol}), {tail}}},')
    print('};')


def worker_query(c):
    """Asks, without waiting, whether what the call waits for has come."""
    p = next(p for p in c.params if p.handle and p.by_value)
    print(f'static CUresult query_{c.symbol}(struct serve *serve, const void *raw)\n{{')
    print(f'    const struct args_{c.symbol} *args = raw;')
    print(f'    {p.type} {p.name} = serve_handle(serve, HANDLE_{p.handle}, args->{p.name});\n')
    print(f'    if (serve_failed(serve) || !driver.{c.query})\n        return CUDA_ERROR_NOT_SUPPORTED;')
    print(f'    return driver.{c.query}({p.name});\n}}\n')


def worker_call(c):
    outs = c.outs()
    print(f'static void handle_{c.symbol}(struct serve *serve, const void *raw)\n{{')
    if c.ins() or c.tail('bytes') or c.tail('reply_bytes') or 'served' in c.flags:
        print(f'    const struct args_{c.symbol} *args = raw;')
    if c.string:
        print(f'    const char *{c.string.name} = serve_string(serve, args + 1, args->{c.string.name}_length);')
    if c.tail('bytes'):
        print('    if (!serve_bytes(serve, args + 1, args->bytes))\n        return;')
    if outs:
        print(f'    struct reply_{c.symbol} reply;\n    memset(&reply, 0, sizeof(reply));')
    if 'served' in c.flags:
        if c.string:
            print(f'    if (!{c.string.name})\n        return;')
        print(f'    serve_{c.symbol}(serve, args{", &reply" if outs else ""});')
    else:
        call_args = []
        for p in c.params:
            if p.is_new:
                print(f'    {p.type} {p.name} = NULL;')
                call_args.append(f'&{p.name}')
            elif p.is_string:
                call_args.append(p.name)
            elif p.handle and p.by_value:
                print(f'    {p.type} {p.name} = serve_handle(serve, HANDLE_{p.handle}, args->{p.name});')
                call_args.append(p.name)
            elif p.type == 'CUdevice' and p.by_value:
                print(f'    CUdevice {p.name} = serve_device(serve, args->{p.name});')
                call_args.append(p.name)
            elif p.by_value:
                call_args.append(f'({p.c_type})args->{p.name}')
            elif p.array:
                print(f'    if (args->{p.array[0]} > {p.array[1]})\n        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);')
                call_args.append(f'({p.type} *)args->{p.name}' if not p.const else f'args->{p.name}')
            elif p.is_in_struct and not p.is_out:
                if 'opt' in p.marks:
                    print(f'    {p.type} {p.name} = args->{p.name};')
                    call_args.append(f'args->{p.name}_given ? &{p.name} : NULL')
                else:
                    print(f'    {p.type} {p.name} = args->{p.name};')
                    call_args.append(f'&{p.name}')
            elif p.is_out:
                if 'inout' in p.marks:
                    print(f'    reply.{p.name} = args->{p.name};')
                cast = '(void **)' if p.type == 'void' else f'({p.type} *)' if p.out_type != p.type else ''
                call_args.append(f'{cast}&reply.{p.name}')
        print('    if (serve_failed(serve))\n        return;')
        print(f'    if (!driver.{c.symbol}) {{\n        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);\n        return;\n    }}')
        print(f'    serve_fail(serve, driver.{c.symbol}({", ".join(call_args)}));')
        for p in c.params:
            if p.is_new:
                print(f'    if (!serve_failed(serve))\n        serve_bind(serve, HANDLE_{p.handle}, args->{p.name}, {p.name},\n                   {c.parent_of(p)});')
            if 'free' in p.marks:
                print(f'    serve_unbind(serve, HANDLE_{p.handle}, args->{p.name});')
    if outs:
        print('    if (!serve_failed(serve))\n        serve_reply(serve, &reply, sizeof(reply));')
    print('}\n')


def emit_coverage(calls):
    cuda = [c for c in calls if c.is_cuda]
    print('# CUDA Driver API coverage\n')
    total = len(cuda)
    done = sum(c.cls != 'unsupported' for c in cuda)
    print(f'{total} functions (CUDA 13.0, old ABI versions included), {done} carried. A call that is not '
          'carried returns `CUDA_ERROR_NOT_SUPPORTED` and is named once in the log.\n')
    print('| function | since | class | per-thread variant |\n|---|---|---|---|')
    for c in sorted(cuda, key=lambda c: c.symbol):
        version = f'{c.version // 1000}.{c.version % 1000 // 10}'
        print(f'| `{c.symbol}` | {version} | {c.cls} | {", ".join(s for s, _ in c.variants)} |')


def emit_abi_check(calls):
    """A C file that fails to compile where a prototype differs from cuda.h's."""
    print(GENERATED, '\n#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaProfiler.h>\n')
    print('#define SAME(symbol, ...) _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), CUresult(__VA_ARGS__)), #symbol)')
    for c in calls:
        if not c.is_cuda:
            continue
        text = c.text
        if c.is_sent:
            text = ', '.join(p.c_text for p in c.params)
        print(f'SAME({c.symbol}, {text or "void"});')


def main():
    emitters = {k[5:]: v for k, v in globals().items() if k.startswith('emit_')}
    if len(sys.argv) in (3, 4) and sys.argv[2] in ('check', 'lock'):
        version, digest = protocol(sys.argv[1])
        lock = sys.argv[3] if len(sys.argv) == 4 else version_lock.LOCK
        if sys.argv[2] == 'lock':
            version_lock.add('calls', version, digest, lock)
        read_spec(sys.argv[1])
        sys.exit(version_lock.check('calls', version, digest, lock))
    if len(sys.argv) != 3 or sys.argv[2] not in emitters:
        raise SystemExit(f'{__doc__}\nkinds: {" ".join(sorted(emitters))}')
    emitters[sys.argv[2]](read_spec(sys.argv[1]))


main()
