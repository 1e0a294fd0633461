// SPDX-License-Identifier: BSD-3-Clause
// Parses directives allowed at module scope and within functions. They do not change execution.
#include "sim/ptx/parse/parse.h"

static void skip_braces(struct compiler *c)
{
    unsigned depth = 0;

    do {
        if (token_is(c, '{'))
            depth++;
        else if (token_is(c, '}'))
            depth--;
        if (c->token.kind == TOK_END)
            token_unexpected(c, "'}'");
        lex_next(c);
    } while (depth);
}

bool parse_common_directive(struct compiler *c)
{
    if (token_word(c, TOK_DOT, "loc") || token_word(c, TOK_DOT, "file")) {
        lex_skip_line(c);
    } else if (token_accept_dot(c, "pragma")) {
        while (c->token.kind == TOK_STRING || token_is(c, ','))
            lex_next(c);
        token_expect(c, ';');
    } else if (token_accept_dot(c, "section")) {
        while (!token_is(c, '{') && c->token.kind != TOK_END)
            lex_next(c);
        skip_braces(c);
    } else if (token_is(c, '@') && c->at < c->end && *c->at == '@') {
        lex_skip_line(c); // skips @@DWARF lines of old compilers
    } else {
        return false;
    }
    return true;
}
