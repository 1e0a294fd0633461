// SPDX-License-Identifier: BSD-3-Clause
// Generated from control.spec.
#ifndef RGPU_CONTROL_MESSAGES_H
#define RGPU_CONTROL_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cursor.h"

#define CONTROL_VERSION ${protocol.version}
#define CONTROL_VERSION_OLDEST ${protocol.oldest}
// The digest of the whole list.
#define CONTROL_DIGEST UINT64_C(0x${digest})
// The digest of the messages that concern a worker with a session.
#define CONTROL_SESSION_DIGEST UINT64_C(0x${session_digest})

% said = lambda comment: f' // {comment}' if comment else ''
% for name, value, comment in spec.consts:
#define CONTROL_${name} ${value}${said(comment)}
% end

% if spec.transports:
// The transports, best first.
#define CONTROL_TRANSPORTS(row_) ${' '.join(f'row_({name})' for name, _ in spec.transports)}
#define CONTROL_TRANSPORT_WORDS "${spec.transport_words}"
#define CONTROL_TRANSPORT_CHOICES "auto|${spec.transport_words.replace(', ', '|')}"

% end
% for name, values in spec.enums.items():
enum control_${name} {
%   for word, value, comment in values:
    CONTROL_${name.upper()}_${word.upper()} = ${value},${said(comment)}
%   end
};
const char *control_${name}_name(enum control_${name} value);

% end
% for group in spec.settings.values():
%   for f in group.fields:
%       if f.kind == 'choice':
enum control_${f.name} {
%           for word in f.argument:
    CONTROL_${f.name.upper()}_${word.upper()},
%           end
};

%       end
%   end
% end
% for group in spec.groups:
%   if group.comment:
// ${group.comment}
%   end
struct control_${group.name} {
%   for f in group.fields:
%       if f.is_integer:
    ${f.c_type} ${f.name};${said(f.comment)}
%       elif group.section:
    ${f.c_type} ${f.name};${said(f.comment)}
%       elif f.kind == 'settings':
    struct control_${f.argument} ${f.name};${said(f.comment)}
%       elif f.kind == 'enum':
    enum control_${f.argument} ${f.name};${said(f.comment)}
%       elif f.kind == 'fixed':
    uint8_t ${f.name}[${f.argument}];${said(f.comment)}
%       elif f.kind == 'string':
    char ${f.name}[${f.argument} + 1];${said(f.comment)}
%       elif f.kind == 'bytes':
    const uint8_t *${f.name};${said(f.comment)}
    uint32_t ${f.name}_size;
%       else:
    uint32_t ${f.name}_count;${said(f.comment)}
    struct control_${f.argument[0]} ${f.name}[${f.argument[1]}];
%       end
%   end
};

% end
% for group in spec.settings.values():
// The rows of section [${group.section}] for a table of settings (common/service/config.h) whose
// structure TYPE_ has a struct control_${group.name} MEMBER_; outside of functions.
#define CONTROL_${group.name.upper()}_ROWS(type_, member_) ${chr(92)}
%   for f in group.fields:
    ${f.row(group.section)}${', ' + chr(92) if f is not group.fields[-1] else ''}
%   end

% end
enum control_message_type {
% for message in spec.messages:
    CONTROL_${message.name.upper()} = ${message.number},
% end
};

// A union of all messages, for code that handles any of them.
union control_message {
% for message in spec.messages:
    struct control_${message.name} ${message.name};
% end
};

// Returns the name of a message; NULL if TYPE is no message.
const char *control_message_name(unsigned type);
// Returns the longest body that a message may have; 0 if TYPE is no message.
size_t control_message_max(unsigned type);
// Returns true if a longer body, as a newer peer may send it, is accepted.
bool control_message_open(unsigned type);

// Encode and decode the body alone, without a frame header. Encoding fails (sticky, in the cursor)
// if a value exceeds its limit or the space is short. Decoding validates all fields and returns 0
// or -EBADMSG; views point into the memory that BODY reads.
void control_encode_body(enum control_message_type type, const void *message,
                         struct cursor_writer *body);
int control_decode_body(enum control_message_type type, struct cursor_reader *body,
                        void *message) __attribute__((warn_unused_result));

#endif
