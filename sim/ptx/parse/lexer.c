// SPDX-License-Identifier: BSD-3-Clause
// Splits PTX text into tokens, one at a time; the compiler's `token` is the current one.
#include "sim/ptx/parse/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void lex_start(struct compiler *c, const char *text, size_t len)
{
    const char *nul = memchr(text, 0, len);

    c->at = text;
    c->end = nul ? nul : text + len;
    c->line = 1;
    lex_next(c);
}

static bool name_char(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_' || ch == '$';
}

static void lexer_skip_space(struct compiler *c)
{
    while (c->at < c->end) {
        if (*c->at == '\n') {
            c->line++;
            c->at++;
        } else if (isspace((unsigned char)*c->at)) {
            c->at++;
        } else if (c->at + 1 < c->end && c->at[0] == '/' && c->at[1] == '/') {
            while (c->at < c->end && *c->at != '\n')
                c->at++;
        } else if (c->at + 1 < c->end && c->at[0] == '/' && c->at[1] == '*') {
            unsigned line = c->line;

            c->at += 2;
            while (c->at + 1 < c->end && !(c->at[0] == '*' && c->at[1] == '/')) {
                c->line += *c->at == '\n';
                c->at++;
            }
            if (c->at + 1 >= c->end)
                compile_fail(c, -EINVAL, line, "comment without an end");
            c->at += 2;
        } else {
            return;
        }
    }
}

static int lexer_hex_digit(char ch)
{
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    ch |= 0x20;
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

// Reads the bits of a number such as 0f3F800000 or 0d3FF0000000000000.
static bool lex_float_bits(struct compiler *c, struct token *t)
{
    unsigned digits = (c->at[1] | 0x20) == 'f' ? 8 : 16;
    uint64_t bits = 0;

    if (c->end - c->at < 2 + (ptrdiff_t)digits)
        return false;
    for (unsigned i = 0; i < digits; i++) {
        int d = lexer_hex_digit(c->at[2 + i]);

        if (d < 0)
            return false;
        bits = bits << 4 | (unsigned)d;
    }
    t->kind = TOK_FLOAT;
    t->integer = bits;
    if (digits == 8) {
        float f;
        uint32_t word = (uint32_t)bits;

        memcpy(&f, &word, 4);
        t->real = f;
        t->is_f32 = true;
    } else {
        memcpy(&t->real, &bits, 8);
    }
    c->at += 2 + digits;
    return true;
}

static void lex_decimal_float(struct compiler *c, struct token *t, const char *start)
{
    char text[64];
    const char *p = start;
    size_t n;
    char *stop;

    while (p < c->end && (isalnum((unsigned char)*p) || *p == '.' ||
                          ((*p == '+' || *p == '-') && (p[-1] | 0x20) == 'e')))
        p++;
    n = (size_t)(p - start);
    if (n >= sizeof(text))
        compile_fail(c, -EINVAL, c->line, "number too long");
    memcpy(text, start, n);
    text[n] = 0;
    t->kind = TOK_FLOAT;
    t->real = strtod(text, &stop);
    if (*stop)
        compile_fail(c, -EINVAL, c->line, "bad number '%s'", text);
    memcpy(&t->integer, &t->real, 8);
    c->at = p;
}

static void lex_number(struct compiler *c, struct token *t)
{
    const char *start = c->at;
    unsigned base = 10;
    uint64_t value = 0;
    size_t left = (size_t)(c->end - c->at);

    if (left > 2 && c->at[0] == '0') {
        char ch = c->at[1] | 0x20;

        if ((ch == 'f' || ch == 'd') && lex_float_bits(c, t))
            return;
        if (ch == 'x') {
            base = 16;
            c->at += 2;
        } else if (ch == 'b') {
            base = 2;
            c->at += 2;
        }
    }
    const char *digits = c->at;
    while (c->at < c->end) {
        int d = lexer_hex_digit(*c->at);

        if (d < 0 || (unsigned)d >= base)
            break;
        value = value * base + (unsigned)d;
        c->at++;
    }
    if (base == 10 && c->at < c->end && (*c->at == '.' || (*c->at | 0x20) == 'e') &&
        (c->at + 1 < c->end && (isdigit((unsigned char)c->at[1]) || (*c->at | 0x20) == 'e'))) {
        lex_decimal_float(c, t, start);
        return;
    }
    if (c->at == digits)
        compile_fail(c, -EINVAL, c->line, "bad number");
    if (base == 10 && digits[0] == '0' && c->at - digits > 1) {
        value = 0;
        for (const char *p = digits; p < c->at; p++) {
            if (*p > '7')
                compile_fail(c, -EINVAL, c->line, "bad octal number");
            value = value * 8 + (unsigned)(*p - '0');
        }
    }
    t->kind = TOK_INT;
    t->integer = value;
    if (c->at < c->end && *c->at == 'U') {
        t->is_unsigned = true;
        c->at++;
    }
}

static void lex_punct(struct compiler *c, struct token *t)
{
    static const struct {
        char first, second, code;
    } pairs[] = {
        {'<', '<', 'L'}, {'>', '>', 'R'}, {'&', '&', 'A'}, {'|', '|', 'O'},
        {'=', '=', 'E'}, {'!', '=', 'N'}, {'<', '=', 'l'}, {'>', '=', 'g'},
    };
    static const char singles[] = "{}()[]<>,;:+-*/%&|^~!?=@#";

    t->kind = TOK_PUNCT;
    if (c->at + 1 < c->end) {
        for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
            if (c->at[0] == pairs[i].first && c->at[1] == pairs[i].second) {
                t->punct = pairs[i].code;
                c->at += 2;
                return;
            }
        }
    }
    if (!strchr(singles, *c->at))
        compile_fail(c, -EINVAL, c->line, "unexpected character 0x%02x", (unsigned char)*c->at);
    t->punct = *c->at++;
}

void lex_next(struct compiler *c)
{
    struct token t = {.kind = TOK_END};

    lexer_skip_space(c);
    t.line = c->line;
    t.text = c->at;
    if (c->at >= c->end) {
        c->token = t;
        return;
    }
    char ch = *c->at;
    bool more = c->at + 1 < c->end;
    if (isdigit((unsigned char)ch)) {
        lex_number(c, &t);
    } else if (isalpha((unsigned char)ch) || ch == '_' || ch == '$' ||
               (ch == '%' && more && name_char(c->at[1]) && !isdigit((unsigned char)c->at[1]))) {
        t.kind = TOK_NAME;
        c->at++;
        while (c->at < c->end && name_char(*c->at))
            c->at++;
    } else if (ch == '.' && more && name_char(c->at[1])) {
        t.kind = TOK_DOT;
        t.text = ++c->at;
        while (c->at < c->end && (name_char(*c->at) || (*c->at == ':' && c->end - c->at > 2 &&
                                                        c->at[1] == ':' && name_char(c->at[2])))) {
            c->at += *c->at == ':' ? 2 : 1;
        }
    } else if (ch == '"') {
        t.kind = TOK_STRING;
        t.text = ++c->at;
        while (c->at < c->end && *c->at != '"' && *c->at != '\n')
            c->at++;
        if (c->at >= c->end || *c->at != '"')
            compile_fail(c, -EINVAL, c->line, "string without an end");
        t.len = (unsigned)(c->at - t.text);
        c->at++;
        c->token = t;
        return;
    } else {
        lex_punct(c, &t);
    }
    t.len = (unsigned)(c->at - t.text);
    c->token = t;
}

void lex_skip_line(struct compiler *c)
{
    unsigned line = c->token.line;

    while (c->token.kind != TOK_END && c->token.line == line)
        lex_next(c);
}

bool token_is(const struct compiler *c, char punct)
{
    return c->token.kind == TOK_PUNCT && c->token.punct == punct;
}

bool token_word(const struct compiler *c, enum token_kind kind, const char *text)
{
    return c->token.kind == kind && c->token.len == strlen(text) &&
           !memcmp(c->token.text, text, c->token.len);
}

bool token_accept(struct compiler *c, char punct)
{
    if (!token_is(c, punct))
        return false;
    lex_next(c);
    return true;
}

bool token_accept_dot(struct compiler *c, const char *text)
{
    if (!token_word(c, TOK_DOT, text))
        return false;
    lex_next(c);
    return true;
}

void token_expect(struct compiler *c, char punct)
{
    char wanted[4] = {'\'', punct, '\'', 0};

    if (!token_accept(c, punct))
        token_unexpected(c, wanted);
}

void token_unexpected(struct compiler *c, const char *wanted)
{
    if (c->token.kind == TOK_END)
        compile_fail(c, -EINVAL, c->token.line, "text ends where %s is expected", wanted);
    compile_fail(c, -EINVAL, c->token.line, "syntax error at '%s%.*s': expected %s",
                 c->token.kind == TOK_DOT ? "." : "", c->token.len > 60 ? 60 : (int)c->token.len,
                 c->token.text, wanted);
}
