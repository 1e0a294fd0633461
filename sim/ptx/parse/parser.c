// SPDX-License-Identifier: BSD-3-Clause
// Parses a whole PTX text: the directives of module scope.
#include "sim/ptx/parse/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEWEST_ISA 90
#define NEWEST_TARGET 90

static void parse_version(struct compiler *c)
{
    char text[16] = "";
    unsigned major = 0, minor = 0;

    if (c->token.kind != TOK_FLOAT || c->token.len >= sizeof(text))
        token_unexpected(c, "a version such as 7.0");
    memcpy(text, c->token.text, c->token.len);
    if (sscanf(text, "%u.%u", &major, &minor) != 2 || minor > 9 || major > 99)
        token_unexpected(c, "a version such as 7.0");
    if (major * 10 + minor > NEWEST_ISA)
        compile_fail(c, -ENOEXEC, c->token.line, "PTX ISA %u.%u is newer than %u.%u", major, minor,
                     NEWEST_ISA / 10, NEWEST_ISA % 10);
    if (major * 10 + minor > c->module->ptx_version)
        c->module->ptx_version = major * 10 + minor;
    lex_next(c);
}

static void parse_target(struct compiler *c)
{
    do {
        char text[32] = "";

        if (c->token.kind != TOK_NAME || c->token.len >= sizeof(text))
            token_unexpected(c, "a target");
        memcpy(text, c->token.text, c->token.len);
        if (!strncmp(text, "sm_", 3)) {
            unsigned long sm = strtoul(text + 3, NULL, 10);

            if (sm > NEWEST_TARGET)
                compile_fail(c, -ENOEXEC, c->token.line, "target %s is above sm_%u", text,
                             NEWEST_TARGET);
            if (!sm)
                token_unexpected(c, "a target");
            if (sm > c->module->target)
                c->module->target = (unsigned)sm;
        } else if (strcmp(text, "debug") && strcmp(text, "texmode_unified") &&
                   strcmp(text, "texmode_independent")) {
            compile_fail(c, -ENOTSUP, c->token.line, "target option %s is not supported", text);
        }
        lex_next(c);
    } while (token_accept(c, ','));
}

static void parse_alias(struct compiler *c)
{
    struct token name = c->token;
    struct symbol *alias, *target;

    lex_next(c);
    token_expect(c, ',');
    alias = scope_find(c, name.text, name.len);
    target = c->token.kind == TOK_NAME ? scope_find(c, c->token.text, c->token.len) : NULL;
    if (!alias || alias->kind != SYM_FUNCTION || !target || target->kind != SYM_FUNCTION)
        compile_fail(c, -EINVAL, name.line, ".alias wants two functions");
    alias->function->alias = target->function;
    lex_next(c);
    token_expect(c, ';');
}

static void parse_declaration(struct compiler *c)
{
    bool external = false, visible = false, weak = false, common = false;

    for (;;) {
        if (token_accept_dot(c, "extern"))
            external = true;
        else if (token_accept_dot(c, "visible"))
            visible = true;
        else if (token_accept_dot(c, "weak"))
            weak = true;
        else if (token_accept_dot(c, "common"))
            common = true;
        else
            break;
    }
    if (token_accept_dot(c, "func"))
        parse_function(c, external, visible, weak, false);
    else if (token_accept_dot(c, "entry"))
        parse_function(c, external, visible, weak, true);
    else if (token_word(c, TOK_DOT, "global") || token_word(c, TOK_DOT, "const") ||
             token_word(c, TOK_DOT, "shared") || token_word(c, TOK_DOT, "local"))
        parse_variable(c, external, visible, weak, common);
    else if (c->token.kind == TOK_DOT)
        compile_fail(c, -ENOTSUP, c->token.line, "directive .%.*s is not supported",
                     (int)c->token.len, c->token.text);
    else
        token_unexpected(c, "a directive");
}

void parse_source(struct compiler *c)
{
    if (!token_accept_dot(c, "version"))
        token_unexpected(c, ".version");
    parse_version(c);
    if (!token_accept_dot(c, "target"))
        token_unexpected(c, ".target");
    parse_target(c);
    while (c->token.kind != TOK_END) {
        if (token_accept_dot(c, "version")) {
            parse_version(c);
        } else if (token_accept_dot(c, "target")) {
            parse_target(c);
        } else if (token_accept_dot(c, "address_size")) {
            if (parse_constant_integer(c) != 64)
                compile_fail(c, -ENOTSUP, c->token.line, "only 64-bit addresses are supported");
        } else if (token_accept_dot(c, "alias")) {
            parse_alias(c);
        } else if (!parse_common_directive(c)) {
            parse_declaration(c);
        }
    }
}
