// SPDX-License-Identifier: BSD-3-Clause
// Parses functions and entries: heads, bodies statement by statement, labels, and the end of a
// body.
#include "sim/ptx/parse/parse.h"

#include <errno.h>
#include <string.h>

static const struct {
    const char *name;
    enum builtin builtin;
} builtins[] = {
    {"vprintf", BUILTIN_VPRINTF},
    {"__assertfail", BUILTIN_ASSERTFAIL},
    {"malloc", BUILTIN_MALLOC},
    {"free", BUILTIN_FREE},
    {"cudaGraphSetConditional", BUILTIN_SET_CONDITION},
    {"cudaGraphLaunch", BUILTIN_LAUNCH_GRAPH},
};

static struct ptx_function *new_function(struct compiler *c, const char *name, bool entry)
{
    struct ptx_function *f = compile_alloc(c, sizeof(*f));
    struct ptx_module *m = c->module;

    f->name = name;
    f->module = m;
    f->entry = entry;
    f->index = m->function_count;
    f->source = c->source;
    f->line = c->token.line;
    m->functions = compile_grow(c, m->functions, m->function_count, &c->function_capacity,
                                sizeof(*m->functions));
    m->functions[m->function_count++] = f;
    return f;
}

static struct ptx_function *function_directive_declare(struct compiler *c, const struct token *name,
                                                       bool shared, bool entry)
{
    struct symbol *s = scope_find(c, name->text, name->len);

    if (s && (s->kind != SYM_FUNCTION || s->function->entry != entry))
        compile_fail(c, -EINVAL, name->line, "'%.*s' is declared twice", (int)name->len,
                     name->text);
    if (!s) {
        char *kept = compile_string(c, name->text, name->len);

        s = scope_add(c, shared ? c->globals : c->statics, kept, name->len, SYM_FUNCTION);
        s->function = new_function(c, kept, entry);
    }
    return s->function;
}

static void parse_triple(struct compiler *c, unsigned triple[3])
{
    triple[0] = triple[1] = triple[2] = 1;
    for (int i = 0; i < 3; i++) {
        triple[i] = (unsigned)parse_constant_size(c, 1u << 20, "dimension");
        if (i == 2 || !token_accept(c, ','))
            break;
    }
}

static void parse_tuning(struct compiler *c, struct ptx_function *f)
{
    unsigned triple[3];

    for (;;) {
        if (token_accept_dot(c, "maxntid")) {
            parse_triple(c, triple);
            f->info.max_threads = triple[0] * triple[1] * triple[2];
        } else if (token_accept_dot(c, "reqntid")) {
            parse_triple(c, f->info.required_block);
            f->info.max_threads = f->info.required_block[0] * f->info.required_block[1] *
                                  f->info.required_block[2];
        } else if (token_accept_dot(c, "minnctapersm") || token_accept_dot(c, "maxnctapersm") ||
                   token_accept_dot(c, "maxnreg") || token_accept_dot(c, "maxclusterrank") ||
                   token_accept_dot(c, "abi_preserve") ||
                   token_accept_dot(c, "abi_preserve_control")) {
            parse_constant_integer(c);
        } else if (token_word(c, TOK_DOT, "reqnctapercluster")) {
            lex_next(c);
            parse_triple(c, triple);
            if (triple[0] * triple[1] * triple[2] != 1)
                compile_fail(c, -ENOTSUP, c->token.line, "block clusters are not supported");
        } else if (!token_accept_dot(c, "noreturn") && !token_accept_dot(c, "explicitcluster") &&
                   !(token_word(c, TOK_DOT, "pragma") && parse_common_directive(c))) {
            return;
        }
    }
}

static void parse_guard(struct compiler *c, struct ptx_statement *s)
{
    s->pred_negated = token_accept(c, '!');
    s->guard = parse_operand(c);
}

static void parse_instruction(struct compiler *c, const struct token *name, struct ptx_statement *s)
{
    s->name = *name;
    s->line = name->line;
    c->statement = s;
    if (name->len >= sizeof(s->opcode))
        compile_fail(c, -EINVAL, name->line, "unknown instruction '%.40s'", name->text);
    memcpy(s->opcode, name->text, name->len);
    s->opcode[name->len] = 0;
    for (; c->token.kind == TOK_DOT; lex_next(c)) {
        if (s->mod_count == MAX_MODS)
            compile_fail(c, -EINVAL, name->line, "too many modifiers");
        s->mods[s->mod_count++] = (struct modifier){.text = c->token.text, .len = c->token.len};
    }
    c->lowering->statement(c, s);
    c->statement = NULL;
}

static bool parse_body_directive(struct compiler *c)
{
    if (token_accept_dot(c, "reg"))
        parse_registers(c);
    else if (token_accept_dot(c, "param"))
        parse_frame_param(c);
    else if (token_word(c, TOK_DOT, "local") || token_word(c, TOK_DOT, "shared") ||
             token_word(c, TOK_DOT, "global") || token_word(c, TOK_DOT, "const"))
        parse_variable(c, false, false, false, false);
    else if (token_accept_dot(c, "extern"))
        parse_variable(c, true, false, false, false);
    else
        return parse_common_directive(c);
    return true;
}

static void parse_body(struct compiler *c)
{
    unsigned braces = 1;

    token_expect(c, '{');
    while (braces) {
        struct ptx_statement statement = {.pred = NO_PRED};
        struct token name;

        if (token_accept(c, '{')) {
            scope_push(c);
            braces++;
        } else if (token_accept(c, '}')) {
            if (--braces)
                scope_pop(c);
        } else if (token_accept(c, ';') || parse_body_directive(c)) {
            continue;
        } else {
            statement.line = c->token.line;
            if (token_accept(c, '@'))
                parse_guard(c, &statement);
            if (c->token.kind != TOK_NAME)
                token_unexpected(c, "an instruction");
            name = c->token;
            lex_next(c);
            if (!statement.guard && token_accept(c, ':'))
                parse_label(c, &name);
            else
                parse_instruction(c, &name, &statement);
        }
    }
}

static void begin_function(struct compiler *c, struct ptx_function *f)
{
    c->function = f;
    c->code = NULL;
    c->code_count = c->code_capacity = 0;
    c->classes = NULL;
    c->reg_count = c->reg_capacity = 0;
    c->fixup_count = 0;
    c->carry = NO_PRED;
    c->frame_bytes = 0;
    c->callee_capacity = 0;
    f->callees = NULL;
    f->callee_count = 0;
    scope_push(c);
}

static void function_directive_end_function(struct compiler *c, struct ptx_function *f)
{
    c->lowering->end(c, f);
    f->defined = true;
    scope_pop(c);
    c->function = NULL;
}

// Describes the head's parameters for the public interface.
static void describe_params(struct compiler *c, struct ptx_function *f, uint64_t bytes)
{
    struct ptx_param *params = compile_alloc(c, (f->formal_count + 1) * sizeof(*params));

    for (uint32_t i = 0; i < f->formal_count; i++)
        params[i] =
            (struct ptx_param){f->formals[i].offset, f->formals[i].size, f->formals[i].align};
    f->info.params = params;
    f->info.param_count = f->formal_count;
    f->info.param_bytes = bytes;
}

static void find_builtin(struct ptx_function *f)
{
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
        if (!strcmp(builtins[i].name, f->name))
            f->builtin = builtins[i].builtin;
}

static void add_entry(struct compiler *c, struct ptx_function *f)
{
    struct ptx_module *m = c->module;

    m->entries =
        compile_grow(c, m->entries, m->entry_count, &c->entry_capacity, sizeof(*m->entries));
    m->entries[m->entry_count++] = f;
}

void parse_function(struct compiler *c, bool external, bool visible, bool weak, bool entry)
{
    struct ptx_function *scrap = compile_scratch(c, sizeof(*scrap)), *f;
    struct formal *returns = NULL, *formals = NULL;
    uint32_t return_count = 0, formal_count = 0;
    uint64_t bytes = 0;
    struct token name;

    // The parameters belong to the body's scope; only the end shows if there is a body.
    scrap->module = c->module;
    scrap->entry = entry;
    scrap->name = "";
    begin_function(c, scrap);
    if (!entry && token_is(c, '('))
        returns = parse_formals(c, &return_count, false, true, NULL);
    name = c->token;
    if (name.kind != TOK_NAME)
        token_unexpected(c, "a function's name");
    lex_next(c);
    if (token_is(c, '('))
        formals = parse_formals(c, &formal_count, entry, !entry, &bytes);
    struct scope *body = c->scope;
    c->scope = body->parent;
    f = function_directive_declare(c, &name, external || visible || weak || entry, entry);
    c->scope = body;
    if (external)
        find_builtin(f);
    bool dropped = f->defined && (f->weak || weak);
    if (f->declared && !f->defined &&
        (f->formal_count != formal_count || f->return_count != return_count))
        compile_fail(c, -EINVAL, name.line, "'%s' is declared with other parameters", f->name);
    struct ptx_function *target = dropped ? scrap : f;
    if (dropped)
        scrap->name = f->name;
    else if (!f->defined)
        f->declared = true;
    if (dropped || !f->defined) {
        target->formals = formals;
        target->formal_count = formal_count;
        target->returns = returns;
        target->return_count = return_count;
    }
    c->function = target;
    parse_tuning(c, target);
    if (token_accept(c, ';')) {
        scope_pop(c);
        c->function = NULL;
        return;
    }
    if (external)
        compile_fail(c, -EINVAL, name.line, "'%s' is .extern and has a body", f->name);
    if (f->defined && !dropped)
        compile_fail(c, -EINVAL, name.line, "'%s' is defined twice", f->name);
    target->weak = weak;
    target->visible = visible;
    target->builtin = BUILTIN_NONE;
    describe_params(c, target, bytes);
    parse_body(c);
    function_directive_end_function(c, target);
    if (entry && !dropped)
        add_entry(c, f);
}
