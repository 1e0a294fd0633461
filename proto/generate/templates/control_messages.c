// SPDX-License-Identifier: BSD-3-Clause
// Generated from control.spec.
#include "control_messages.h"

#include <errno.h>
#include <string.h>

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

static unsigned take_below(struct cursor_reader *body, unsigned end)
{
    uint8_t value = cursor_u8(body);

    if (value >= end)
        cursor_fail(body);
    return value;
}

% for name, values in spec.enums.items():
const char *control_${name}_name(enum control_${name} value)
{
    switch (value) {
%   for word, _, _ in values:
    case CONTROL_${name.upper()}_${word.upper()}:
        return "${word}";
%   end
    }
    return "unknown";
}

%   if name not in spec.open_enums:
static bool ${name}_valid(uint8_t value)
{
    switch (value) {
%   for word, _, _ in values:
    case CONTROL_${name.upper()}_${word.upper()}:
%   end
        return true;
    }
    return false;
}

%   end
% end
% for group in spec.groups:
static void encode_${group.name}(const struct control_${group.name} *m,
    struct cursor_writer *body)
{
%   for f in group.fields:
%       if f.kind == 'i32':
    cursor_put_u32(body, (uint32_t)m->${f.name});
%       elif f.is_integer:
    cursor_put_${f.kind}(body, m->${f.name});
%       elif f.kind in ('int', 'size', 'duration'):
    cursor_put_u64(body, (uint64_t)m->${f.name});
%       elif f.kind == 'settings':
    encode_${f.argument}(&m->${f.name}, body);
%       elif f.kind in ('enum', 'bool', 'choice'):
    cursor_put_u8(body, (uint8_t)m->${f.name});
%       elif f.kind == 'fixed':
    cursor_put(body, m->${f.name}, ${f.argument});
%       elif f.kind == 'string':
    put_string(body, m->${f.name}, ${f.argument});
%       elif f.kind == 'bytes':
    put_bytes(body, m->${f.name}, m->${f.name}_size, ${f.argument});
%       else:
    if (m->${f.name}_count > ${f.argument[1]})
        body->failed = true;
    cursor_put_u32(body, m->${f.name}_count);
    for (uint32_t i = 0; i < m->${f.name}_count && !body->failed; i++)
        encode_${f.argument[0]}(&m->${f.name}[i], body);
%       end
%   end
}

static void decode_${group.name}(struct cursor_reader *body,
    struct control_${group.name} *m)
{
%   for f in group.fields:
%       if f.is_later:
    if (!cursor_left(body)) {
        size_t known = offsetof(struct control_${group.name}, ${f.name});
        memset((char *)m + known, 0, sizeof(*m) - known);
        return;
    }
%       end
%       if f.kind == 'i32':
    m->${f.name} = (int32_t)cursor_u32(body);
%       elif f.is_integer:
    m->${f.name} = cursor_${f.kind}(body);
%       elif f.kind == 'int':
    m->${f.name} = (int64_t)cursor_u64(body);
%       elif f.kind in ('size', 'duration'):
    m->${f.name} = cursor_u64(body);
%       elif f.kind == 'settings':
    decode_${f.argument}(body, &m->${f.name});
%       elif f.kind == 'bool':
    m->${f.name} = take_below(body, 2);
%       elif f.kind == 'choice':
    m->${f.name} = (int)take_below(body, ${len(f.argument)});
%       elif f.kind == 'enum' and f.argument in spec.open_enums:
    m->${f.name} = (enum control_${f.argument})cursor_u8(body);
%       elif f.kind == 'enum':
    m->${f.name} = (enum control_${f.argument})take_enum(body, ${f.argument}_valid);
%       elif f.kind == 'fixed':
    cursor_copy(body, m->${f.name}, ${f.argument});
%       elif f.kind == 'string':
    take_string(body, m->${f.name}, ${f.argument});
%       elif f.kind == 'bytes':
    m->${f.name} = take_bytes(body, &m->${f.name}_size, ${f.argument});
%       else:
    m->${f.name}_count = cursor_u32(body);
    if (m->${f.name}_count > ${f.argument[1]}) {
        cursor_fail(body);
        m->${f.name}_count = 0;
    }
    for (uint32_t i = 0; i < m->${f.name}_count; i++)
        decode_${f.argument[0]}(body, &m->${f.name}[i]);
%       end
%   end
}

% end
const char *control_message_name(unsigned type)
{
    switch (type) {
% for m in spec.messages:
    case CONTROL_${m.name.upper()}:
        return "${m.name.upper()}";
% end
    }
    return NULL;
}

size_t control_message_max(unsigned type)
{
    switch (type) {
% for m in spec.messages:
    case CONTROL_${m.name.upper()}:
        return ${spec.group_max(m)};
% end
    }
    return 0;
}

bool control_message_open(unsigned type)
{
    switch (type) {
% for m in spec.messages:
%   if m.is_open:
    case CONTROL_${m.name.upper()}:
%   end
% end
        return true;
    }
    return false;
}

void control_encode_body(enum control_message_type type, const void *message,
                         struct cursor_writer *body)
{
    switch (type) {
% for m in spec.messages:
    case CONTROL_${m.name.upper()}:
        encode_${m.name}(message, body);
        return;
% end
    }
    body->failed = true;
}

int control_decode_body(enum control_message_type type, struct cursor_reader *body,
                        void *message)
{
    switch (type) {
% for m in spec.messages:
    case CONTROL_${m.name.upper()}:
        decode_${m.name}(body, message);
        break;
% end
    default:
        return -EBADMSG;
    }
    if (body->failed || (cursor_left(body) && !control_message_open(type)))
        return -EBADMSG;
    return 0;
}
