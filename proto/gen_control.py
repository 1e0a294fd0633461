#!/usr/bin/env python3
"""Makes control_messages.[ch] from control.spec.

usage: gen_control.py SPEC --out DIR     write the code
       gen_control.py SPEC --check       fail where the spec changed without its version
       gen_control.py SPEC --lock        add the spec's version to version.lock
"""

import argparse
import hashlib
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import version_lock  # noqa: E402

INTEGERS = {"u8": ("uint8_t", 1), "u16": ("uint16_t", 2), "u32": ("uint32_t", 4),
            "u64": ("uint64_t", 8), "i32": ("int32_t", 4)}


class Field:
    def __init__(self, name, kind, argument, comment):
        self.name, self.kind, self.argument, self.comment = name, kind, argument, comment


class Group:
    """A struct or message: a named list of fields."""

    def __init__(self, name, comment, number=None, is_open=False):
        self.name, self.comment, self.number, self.is_open = name, comment, number, is_open
        self.fields = []


class Spec:
    def __init__(self):
        self.name, self.version, self.oldest = None, None, None
        self.consts, self.enums, self.structs, self.messages = [], {}, {}, []


def fail(path, number, text):
    sys.exit(f"{path}:{number}: {text}")


def parse_field(spec, words, comment, where):
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?", " ".join(words[1:]))
    if len(words) < 2 or not match:
        fail(*where, "expected: name type")
    kind, argument = match.group(1), match.group(2)
    if kind in INTEGERS and argument is None:
        return Field(words[0], kind, None, comment)
    if kind in spec.enums and argument is None:
        return Field(words[0], "enum", kind, comment)
    if kind in ("fixed", "string", "bytes") and argument and argument.isdigit():
        return Field(words[0], kind, int(argument), comment)
    if kind == "array" and argument:
        struct, limit = [part.strip() for part in argument.split(",")]
        if struct in spec.structs:
            return Field(words[0], kind, (struct, int(limit)), comment)
    fail(*where, f"unknown type {' '.join(words[1:])}")


def parse_head(spec, words, comment, where):
    """A line at the left margin; gives what the indented lines after it belong to."""
    if words[0] == "protocol" and len(words) == 4:
        spec.name, spec.version, spec.oldest = words[1], int(words[2]), int(words[3])
    elif words[0] == "const" and len(words) == 3:
        spec.consts.append((words[1], words[2], comment))
    elif words[0] == "enum" and len(words) == 2:
        spec.enums[words[1]] = []
        return spec.enums[words[1]]
    elif words[0] == "struct" and len(words) == 2:
        spec.structs[words[1]] = Group(words[1], comment)
        return spec.structs[words[1]]
    elif words[0] == "message" and len(words) in (3, 4):
        message = Group(words[2].lower(), comment, int(words[1]), words[3:] == ["open"])
        if any(message.number == m.number or message.name == m.name for m in spec.messages):
            fail(*where, f"message {words[2]} or its number is there twice")
        spec.messages.append(message)
        return message
    else:
        fail(*where, f"not understood: {' '.join(words)}")
    return None


def parse(path):
    spec, current = Spec(), None
    with open(path, encoding="ascii") as source:
        for number, line in enumerate(source, 1):
            text, _, comment = line.partition("#")
            words, where = text.split(), (path, number)
            if not words:
                continue
            if not line[0].isspace():
                current = parse_head(spec, words, comment.strip(), where)
            elif isinstance(current, list) and len(words) == 2:
                current.append((words[0], int(words[1]), comment.strip()))
            elif isinstance(current, Group):
                current.fields.append(parse_field(spec, words, comment.strip(), where))
            else:
                fail(*where, "indented line without a head")
    return spec


def digest(path):
    """Over everything that reaches the wire or the code: all words, no comments."""
    total = hashlib.sha256()
    with open(path, encoding="ascii") as source:
        for line in source:
            words = line.partition("#")[0].split()
            if words:
                total.update((" ".join(words) + "\n").encode())
    return total.hexdigest()


# ---- sizes ----

def field_max(spec, field):
    if field.kind in INTEGERS:
        return INTEGERS[field.kind][1]
    if field.kind == "enum":
        return 1
    if field.kind == "fixed":
        return field.argument
    if field.kind in ("string", "bytes"):
        return 4 + field.argument
    struct, limit = field.argument
    return 4 + limit * group_max(spec, spec.structs[struct])


def group_max(spec, group):
    return sum(field_max(spec, field) for field in group.fields)


# ---- the header ----

def declare(field):
    if field.kind in INTEGERS:
        lines = [f"{INTEGERS[field.kind][0]} {field.name};"]
    elif field.kind == "enum":
        lines = [f"enum control_{field.argument} {field.name};"]
    elif field.kind == "fixed":
        lines = [f"uint8_t {field.name}[{field.argument}];"]
    elif field.kind == "string":
        lines = [f"char {field.name}[{field.argument} + 1];"]
    elif field.kind == "bytes":
        lines = [f"const uint8_t *{field.name};", f"uint32_t {field.name}_size;"]
    else:
        lines = [f"uint32_t {field.name}_count;",
                 f"struct control_{field.argument[0]} {field.name}[{field.argument[1]}];"]
    if field.comment:
        lines[0] += f" // {field.comment}"
    return lines


def emit_group_type(out, group):
    if group.comment:
        out(f"// {group.comment}")
    out(f"struct control_{group.name} {{")
    for field in group.fields:
        for line in declare(field):
            out(f"    {line}")
    out("};\n")


def emit_header(spec, path_digest, out):
    out("// Generated from control.spec by gen_control.py.")
    out("#ifndef RGPU_CONTROL_MESSAGES_H\n#define RGPU_CONTROL_MESSAGES_H\n")
    out("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n")
    out('#include "common/cursor.h"\n')
    out(f"#define CONTROL_VERSION {spec.version}")
    out(f"#define CONTROL_VERSION_OLDEST {spec.oldest}")
    out(f'#define CONTROL_HASH "{path_digest}"\n')
    for name, value, comment in spec.consts:
        out(f"#define CONTROL_{name} {value}" + (f" // {comment}" if comment else ""))
    out("")
    for name, values in spec.enums.items():
        out(f"enum control_{name} {{")
        for word, value, comment in values:
            out(f"    CONTROL_{name.upper()}_{word.upper()} = {value},"
                + (f" // {comment}" if comment else ""))
        out("};")
        out(f"const char *control_{name}_name(enum control_{name} value);\n")
    for group in list(spec.structs.values()) + spec.messages:
        emit_group_type(out, group)
    out("enum control_message_type {")
    for message in spec.messages:
        out(f"    CONTROL_{message.name.upper()} = {message.number},")
    out("};\n")
    out("// Every message in one, for code that handles whatever comes.")
    out("union control_message {")
    for message in spec.messages:
        out(f"    struct control_{message.name} {message.name};")
    out("};\n")
    out("// NULL for a number that is no message.")
    out("const char *control_message_name(unsigned type);")
    out("// The longest body that a message may have; 0 for a number that is no message.")
    out("size_t control_message_max(unsigned type);")
    out("// Whether a longer body, as a newer peer may send it, is accepted.")
    out("bool control_message_open(unsigned type);\n")
    out("// The body alone, without a frame header. Encoding fails (sticky, in the cursor) where a")
    out("// value is over its limit or the room is short. Decoding validates everything: 0 or")
    out("// -EBADMSG; views point into what BODY reads.")
    out("void control_encode_body(enum control_message_type type, const void *message,")
    out("                         struct cursor_writer *body);")
    out("int control_decode_body(enum control_message_type type, struct cursor_reader *body,")
    out("                        void *message) __attribute__((warn_unused_result));")
    out("\n#endif")


# ---- the code ----

def emit_enum_name(name, values, out):
    out(f"const char *control_{name}_name(enum control_{name} value)\n{{")
    out("    switch (value) {")
    for word, _, _ in values:
        out(f'    case CONTROL_{name.upper()}_{word.upper()}:\n        return "{word}";')
    out('    }\n    return "unknown";\n}\n')
    out(f"static bool {name}_valid(uint8_t value)\n{{")
    out("    switch (value) {")
    for word, _, _ in values:
        out(f"    case CONTROL_{name.upper()}_{word.upper()}:")
    out("        return true;\n    }\n    return false;\n}\n")


def encode_lines(field):
    name = f"m->{field.name}"
    if field.kind == "i32":
        return [f"cursor_put_u32(body, (uint32_t){name});"]
    if field.kind in INTEGERS:
        return [f"cursor_put_{field.kind}(body, {name});"]
    if field.kind == "enum":
        return [f"cursor_put_u8(body, (uint8_t){name});"]
    if field.kind == "fixed":
        return [f"cursor_put(body, {name}, {field.argument});"]
    if field.kind == "string":
        return [f"put_string(body, {name}, {field.argument});"]
    if field.kind == "bytes":
        return [f"put_bytes(body, {name}, {name}_size, {field.argument});"]
    struct, limit = field.argument
    return [f"if ({name}_count > {limit})", "    body->failed = true;",
            f"cursor_put_u32(body, {name}_count);",
            f"for (uint32_t i = 0; i < {name}_count && !body->failed; i++)",
            f"    encode_{struct}(&{name}[i], body);"]


def decode_lines(field):
    name = f"m->{field.name}"
    if field.kind == "i32":
        return [f"{name} = (int32_t)cursor_u32(body);"]
    if field.kind in INTEGERS:
        return [f"{name} = cursor_{field.kind}(body);"]
    if field.kind == "enum":
        kind = f"enum control_{field.argument}"
        return [f"{name} = ({kind})take_enum(body, {field.argument}_valid);"]
    if field.kind == "fixed":
        return [f"cursor_copy(body, {name}, {field.argument});"]
    if field.kind == "string":
        return [f"take_string(body, {name}, {field.argument});"]
    if field.kind == "bytes":
        return [f"{name} = take_bytes(body, &{name}_size, {field.argument});"]
    struct, limit = field.argument
    return [f"{name}_count = cursor_u32(body);",
            f"if ({name}_count > {limit}) {{", "    cursor_fail(body);",
            f"    {name}_count = 0;", "}",
            f"for (uint32_t i = 0; i < {name}_count; i++)",
            f"    decode_{struct}(body, &{name}[i]);"]


def emit_group_code(group, out):
    out(f"static void encode_{group.name}(const struct control_{group.name} *m,\n"
        "    struct cursor_writer *body)\n{")
    for field in group.fields:
        for line in encode_lines(field):
            out(f"    {line}")
    out("}\n")
    out(f"static void decode_{group.name}(struct cursor_reader *body,\n"
        f"    struct control_{group.name} *m)\n{{")
    for field in group.fields:
        for line in decode_lines(field):
            out(f"    {line}")
    out("}\n")


HELPERS = r'''
static void put_bytes(struct cursor_writer *body, const void *data, size_t size, size_t max)
{
    if (size > max)
        body->failed = true;
    cursor_put_u32(body, (uint32_t)size);
    cursor_put(body, data, size);
}

static void put_string(struct cursor_writer *body, const char *text, size_t max)
{
    put_bytes(body, text, strnlen(text, max + 1), max);
}

static const uint8_t *take_bytes(struct cursor_reader *body, uint32_t *size, size_t max)
{
    uint32_t n = cursor_u32(body);

    if (n > max)
        cursor_fail(body);
    const uint8_t *view = cursor_take(body, n);
    *size = view ? n : 0;
    return view;
}

static void take_string(struct cursor_reader *body, char *text, size_t max)
{
    uint32_t n;
    const uint8_t *view = take_bytes(body, &n, max);

    for (uint32_t i = 0; i < n; i++)
        if (view[i] < 0x20 || view[i] == 0x7f)
            cursor_fail(body);
    if (body->failed)
        n = 0;
    if (n)
        memcpy(text, view, n);
    text[n] = '\0';
}

static unsigned take_enum(struct cursor_reader *body, bool (*valid)(uint8_t))
{
    uint8_t value = cursor_u8(body);

    if (!valid(value))
        cursor_fail(body);
    return value;
}
'''


def emit_dispatch(spec, out):
    out("const char *control_message_name(unsigned type)\n{\n    switch (type) {")
    for m in spec.messages:
        out(f'    case CONTROL_{m.name.upper()}:\n        return "{m.name.upper()}";')
    out("    }\n    return NULL;\n}\n")
    out("size_t control_message_max(unsigned type)\n{\n    switch (type) {")
    for m in spec.messages:
        out(f"    case CONTROL_{m.name.upper()}:\n        return {group_max(spec, m)};")
    out("    }\n    return 0;\n}\n")
    out("bool control_message_open(unsigned type)\n{")
    names = [f"type == CONTROL_{m.name.upper()}" for m in spec.messages if m.is_open]
    out("    return " + " ||\n           ".join(names or ["false"]) + ";\n}\n")
    out("void control_encode_body(enum control_message_type type, const void *message,\n"
        "                         struct cursor_writer *body)\n{\n    switch (type) {")
    for m in spec.messages:
        out(f"    case CONTROL_{m.name.upper()}:\n"
            f"        encode_{m.name}(message, body);\n        return;")
    out("    }\n    body->failed = true;\n}\n")
    out("int control_decode_body(enum control_message_type type, struct cursor_reader *body,\n"
        "                        void *message)\n{\n    switch (type) {")
    for m in spec.messages:
        out(f"    case CONTROL_{m.name.upper()}:\n"
            f"        decode_{m.name}(body, message);\n        break;")
    out("    default:\n        return -EBADMSG;\n    }")
    out("    if (body->failed || (cursor_left(body) && !control_message_open(type)))")
    out("        return -EBADMSG;\n    return 0;\n}")


def emit_code(spec, out):
    out("// Generated from control.spec by gen_control.py.")
    out('#include "control_messages.h"\n\n#include <errno.h>\n#include <string.h>')
    out(HELPERS)
    for name, values in spec.enums.items():
        emit_enum_name(name, values, out)
    for group in list(spec.structs.values()) + spec.messages:
        emit_group_code(group, out)
    emit_dispatch(spec, out)


def write(path, emit, *arguments):
    with open(path, "w", encoding="ascii") as target:
        emit(*arguments, lambda text: target.write(text + "\n"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("--out")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--lock", action="store_true")
    parser.add_argument("--lock-file", default=version_lock.LOCK)
    options = parser.parse_args()
    spec, spec_digest = parse(options.spec), digest(options.spec)
    if options.lock:
        version_lock.add(spec.name, spec.version, spec_digest, options.lock_file)
    if options.check:
        problem = version_lock.check(spec.name, spec.version, spec_digest, options.lock_file)
        if problem:
            sys.exit(problem)
    if options.out:
        os.makedirs(options.out, exist_ok=True)
        base = os.path.join(options.out, "control_messages")
        write(base + ".c", emit_code, spec)
        write(base + ".h", emit_header, spec, spec_digest)


main()
