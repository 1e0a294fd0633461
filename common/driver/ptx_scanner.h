// SPDX-License-Identifier: BSD-3-Clause
// Splits PTX into tokens, as far as counting its variables needs them.
#ifndef RGPU_COMMON_DRIVER_PTX_SCANNER_H
#define RGPU_COMMON_DRIVER_PTX_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_token {
    const char *text;
    size_t length; // 0: end of the text
};

struct scanner {
    const char *at, *end;
    struct ptx_token token; // current token
    unsigned depth;         // nesting of braces
    bool unreadable;        // the text has something that cannot be parsed
};

// Moves to the next token: a word, a string, or a single character. A word contains no dot except
// at its start; in the body of a function it contains the modifiers of an instruction.
void scanner_advance(struct scanner *scanner);
bool ptx_token_is(const struct ptx_token *token, const char *text);

// Reads the constant expression at the current token and moves to the token after it. Returns false
// if there is none, or if it is negative or cannot be parsed.
bool scanner_constant(struct scanner *scanner, uint64_t *value);

#endif
