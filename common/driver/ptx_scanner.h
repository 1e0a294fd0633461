// SPDX-License-Identifier: BSD-3-Clause
// Words of a PTX text, as far as counting its variables needs them.
#ifndef RGPU_COMMON_DRIVER_PTX_SCANNER_H
#define RGPU_COMMON_DRIVER_PTX_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_token {
    const char *text;
    size_t length; // 0: the end
};

struct scanner {
    const char *at, *end;
    struct ptx_token token; // the current one
    unsigned depth;         // of braces
    bool unreadable;        // something was found that cannot be understood
};

// Goes on to the next token: a word, a string, or a single character. A word has one dot at most,
// in front, save in the body of a function, where an instruction has those of its modifiers.
void scanner_advance(struct scanner *scanner);
bool ptx_token_is(const struct ptx_token *token, const char *text);

// Reads the constant expression at the current token and moves after it. Returns false if there is
// none, or it is negative or not understood.
bool scanner_constant(struct scanner *scanner, uint64_t *value);

#endif
