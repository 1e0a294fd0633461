// SPDX-License-Identifier: BSD-3-Clause
// Parses constant expressions: C's operators over 64-bit integers, and plain float literals.
#include "sim/ptx/parse/parse.h"

#include <errno.h>

static struct constant parse_level(struct compiler *c, int level);

static struct constant integer(uint64_t value, bool is_unsigned)
{
    return (struct constant){.integer = value, .is_unsigned = is_unsigned};
}

static uint64_t need_integer(struct compiler *c, struct constant k)
{
    if (k.real)
        compile_fail(c, -EINVAL, c->token.line, "integer expected in constant expression");
    return k.integer;
}

static struct constant parse_unary(struct compiler *c)
{
    struct constant k;
    uint64_t value;

    if (++c->depth > 200)
        compile_fail(c, -EINVAL, c->token.line, "expression nested too deeply");
    if (token_accept(c, '-')) {
        k = parse_unary(c);
        if (k.real) {
            k.value = -k.value;
            k.integer ^= k.is_f32 ? 1ull << 31 : 1ull << 63;
        } else {
            k.integer = -k.integer;
        }
    } else if (token_accept(c, '+')) {
        k = parse_unary(c);
    } else if (token_accept(c, '!')) {
        value = need_integer(c, parse_unary(c));
        k = integer(!value, false);
    } else if (token_accept(c, '~')) {
        k = parse_unary(c);
        k.integer = ~need_integer(c, k);
    } else if (token_accept(c, '(')) {
        if (token_is(c, ')') || c->token.kind == TOK_DOT) {
            bool is_unsigned = token_word(c, TOK_DOT, "u64");

            if (!is_unsigned && !token_word(c, TOK_DOT, "s64"))
                token_unexpected(c, "a cast to .s64 or .u64");
            lex_next(c);
            token_expect(c, ')');
            k = integer(need_integer(c, parse_unary(c)), is_unsigned);
        } else {
            k = parse_level(c, 0);
            token_expect(c, ')');
        }
    } else if (c->token.kind == TOK_INT) {
        k = integer(c->token.integer, c->token.is_unsigned || c->token.integer >> 63);
        lex_next(c);
    } else if (c->token.kind == TOK_FLOAT) {
        k = (struct constant){.real = true,
                              .is_f32 = c->token.is_f32,
                              .integer = c->token.integer,
                              .value = c->token.real};
        lex_next(c);
    } else if (token_word(c, TOK_NAME, "WARP_SZ")) {
        k = integer(LANES, false);
        lex_next(c);
    } else {
        token_unexpected(c, "a constant");
    }
    c->depth--;
    return k;
}

// Returns an operator's binding strength, weakest first; the conditional operator is level 0.
static int operator_level(char punct)
{
    switch (punct) {
    case 'O': return 1;
    case 'A': return 2;
    case '|': return 3;
    case '^': return 4;
    case '&': return 5;
    case 'E':
    case 'N': return 6;
    case '<':
    case '>':
    case 'l':
    case 'g': return 7;
    case 'L':
    case 'R': return 8;
    case '+':
    case '-': return 9;
    case '*':
    case '/':
    case '%': return 10;
    }
    return 0;
}

static uint64_t expression_divide(struct compiler *c, char op, uint64_t a, uint64_t b,
                                  bool is_unsigned)
{
    if (!b)
        compile_fail(c, -EINVAL, c->token.line, "division by zero in constant expression");
    if (is_unsigned)
        return op == '/' ? a / b : a % b;
    if (b == UINT64_MAX)
        return op == '/' ? -a : 0;
    return (uint64_t)(op == '/' ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b);
}

static uint64_t expression_apply(struct compiler *c, char op, uint64_t a, uint64_t b, bool u)
{
    switch (op) {
    case 'O': return a || b;
    case 'A': return a && b;
    case '|': return a | b;
    case '^': return a ^ b;
    case '&': return a & b;
    case 'E': return a == b;
    case 'N': return a != b;
    case '<': return u ? a < b : (int64_t)a < (int64_t)b;
    case '>': return u ? a > b : (int64_t)a > (int64_t)b;
    case 'l': return u ? a <= b : (int64_t)a <= (int64_t)b;
    case 'g': return u ? a >= b : (int64_t)a >= (int64_t)b;
    case 'L': return b > 63 ? 0 : a << b;
    case 'R':
        return b > 63 ? (u || !(a >> 63) ? 0 : UINT64_MAX)
               : u    ? a >> b
                      : (uint64_t)((int64_t)a >> b);
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    }
    return expression_divide(c, op, a, b, u);
}

static struct constant parse_level(struct compiler *c, int level)
{
    struct constant left;

    if (level == 0) {
        left = parse_level(c, 1);
        if (!token_accept(c, '?'))
            return left;
        struct constant yes = parse_level(c, 1);
        token_expect(c, ':');
        struct constant no = parse_level(c, 1);
        return need_integer(c, left) ? yes : no;
    }
    if (level > 10)
        return parse_unary(c);
    left = parse_level(c, level + 1);
    while (c->token.kind == TOK_PUNCT && operator_level(c->token.punct) == level) {
        char op = c->token.punct;

        lex_next(c);
        struct constant right = parse_level(c, level + 1);
        uint64_t a = need_integer(c, left), b = need_integer(c, right);
        left.is_unsigned = left.is_unsigned || right.is_unsigned;
        left.integer = expression_apply(c, op, a, b, left.is_unsigned);
    }
    return left;
}

struct constant parse_constant(struct compiler *c)
{
    return parse_level(c, 0);
}

uint64_t parse_constant_integer(struct compiler *c)
{
    return need_integer(c, parse_constant(c));
}

uint64_t parse_constant_size(struct compiler *c, uint64_t limit, const char *what)
{
    unsigned line = c->token.line;
    uint64_t value = parse_constant_integer(c);

    if (value > limit)
        compile_fail(c, -EINVAL, line, "%s of %llu is above %llu", what, (unsigned long long)value,
                     (unsigned long long)limit);
    return value;
}
