// SPDX-License-Identifier: BSD-3-Clause
// Labels of a function: positions, lists of labels, and uses before the definition.
#include "sim/ptx/parse/parse.h"

#include <errno.h>

void add_fixup(struct compiler *c, uint32_t insn, uint32_t *where, const char *name, unsigned len)
{
    c->fixups = compile_grow(c, c->fixups, c->fixup_count, &c->fixup_capacity, sizeof(*c->fixups));
    c->fixups[c->fixup_count++] = (struct fixup){.insn = insn,
                                                 .where = where,
                                                 .name = name,
                                                 .len = len,
                                                 .scope = c->scope,
                                                 .line = c->token.line};
}

void resolve_labels(struct compiler *c)
{
    for (uint32_t i = 0; i < c->fixup_count; i++) {
        struct fixup *fixup = &c->fixups[i];
        struct symbol *s = NULL;

        for (struct scope *scope = fixup->scope; scope && !s; scope = scope->parent)
            s = scope_find_in(scope, fixup->name, fixup->len);
        if (!s || s->kind != SYM_LABEL)
            compile_fail(c, -EINVAL, fixup->line, "label '%.*s' is not defined", (int)fixup->len,
                         fixup->name);
        if (fixup->where) {
            *fixup->where = s->pc;
        } else {
            c->code[fixup->insn].imm = s->pc;
            c->code[fixup->insn].loop = s->pc <= fixup->insn;
        }
    }
}

static void parse_targets(struct compiler *c, struct symbol *list)
{
    uint32_t capacity = 0, count = 0;
    struct token *names = NULL;

    do {
        if (c->token.kind != TOK_NAME)
            token_unexpected(c, "a label");
        names = compile_grow(c, names, count, &capacity, sizeof(*names));
        names[count++] = c->token;
        lex_next(c);
    } while (token_accept(c, ','));
    token_expect(c, ';');
    list->kind = SYM_TARGETS;
    list->table = compile_alloc(c, sizeof(*list->table));
    list->table->count = count;
    list->table->targets = compile_alloc(c, count * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++)
        add_fixup(c, 0, &list->table->targets[i], names[i].text, names[i].len);
}

static void parse_prototype(struct compiler *c, struct symbol *s)
{
    s->kind = SYM_PROTOTYPE;
    if (token_is(c, '('))
        s->proto_returns = parse_formals(c, &s->proto_return_count, false, false, NULL);
    if (c->token.kind != TOK_NAME)
        token_unexpected(c, "'_'");
    lex_next(c);
    if (token_is(c, '('))
        s->proto_params = parse_formals(c, &s->proto_param_count, false, false, NULL);
    while (token_accept_dot(c, "noreturn") || token_word(c, TOK_DOT, "abi_preserve") ||
           token_word(c, TOK_DOT, "abi_preserve_control")) {
        if (c->token.kind == TOK_DOT) {
            lex_next(c);
            parse_constant_integer(c);
        }
    }
    token_expect(c, ';');
}

void parse_label(struct compiler *c, const struct token *name)
{
    struct symbol *s = scope_find_in(c->scope, name->text, name->len);

    if (s)
        compile_fail(c, -EINVAL, name->line, "'%.*s' is declared twice", (int)name->len,
                     name->text);
    s = scope_add(c, c->scope, name->text, name->len, SYM_LABEL);
    s->pc = c->code_count;
    if (token_accept_dot(c, "branchtargets")) {
        parse_targets(c, s);
    } else if (token_accept_dot(c, "callprototype")) {
        parse_prototype(c, s);
    } else if (token_accept_dot(c, "calltargets")) {
        s->kind = SYM_PROTOTYPE;
        s->any_target = true;
        while (!token_is(c, ';') && c->token.kind != TOK_END)
            lex_next(c);
        token_expect(c, ';');
    }
}
