// SPDX-License-Identifier: BSD-3-Clause
// Constant expressions of PTX (PTX ISA, "Constant Expressions"): 64-bit integers with C's
// operators, signed unless they have suffix U or do not fit.
#include <string.h>

#include "common/base/ascii.h"
#include "common/driver/ptx_scanner.h"

enum { DEPTH_MAX = 100 };

struct value {
    uint64_t bits;
    bool is_unsigned;
};

struct evaluation {
    struct scanner *scanner;
    unsigned depth;
    bool failed;
};

// Operators of two operands; those of two characters come before their beginnings.
static const struct operator
{
    char text[3];
    int precedence;
    enum {
        MULTIPLY,
        DIVIDE,
        REMAINDER,
        ADD,
        SUBTRACT,
        LEFT,
        RIGHT,
        NOT_ABOVE,
        NOT_BELOW,
        EQUAL,
        UNEQUAL,
        BOTH,
        EITHER,
        BELOW,
        ABOVE,
        AND,
        XOR,
        OR
    } kind;
}
operators[] = {
    {"<<", 8, LEFT},     {">>", 8, RIGHT},   {"<=", 7, NOT_ABOVE}, {">=", 7, NOT_BELOW},
    {"==", 6, EQUAL},    {"!=", 6, UNEQUAL}, {"&&", 2, BOTH},      {"||", 1, EITHER},
    {"*", 10, MULTIPLY}, {"/", 10, DIVIDE},  {"%", 10, REMAINDER}, {"+", 9, ADD},
    {"-", 9, SUBTRACT},  {"<", 7, BELOW},    {">", 7, ABOVE},      {"&", 5, AND},
    {"^", 4, XOR},       {"|", 3, OR},
};

static struct value conditional(struct evaluation *e);

static struct value ptx_constant_fail(struct evaluation *e)
{
    e->failed = true;
    return (struct value){0};
}

static bool ptx_constant_take(struct evaluation *e, const char *text)
{
    bool found = ptx_token_is(&e->scanner->token, text);
    if (found)
        scanner_advance(e->scanner);
    return found;
}

// A token may be the beginning of an operator ("<<"), or begin with one ("%4").
static const struct operator* operator_here(const struct scanner *scanner)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        const char *text = operators[i].text;
        size_t length = strlen(text);
        if ((size_t)(scanner->end - scanner->token.text) >= length && scanner->token.length &&
            !memcmp(scanner->token.text, text, length))
            return &operators[i];
    }
    return NULL;
}

static int digit_of(char c)
{
    return ascii_is_digit(c) ? c - '0' : ascii_is_hex_digit(c) ? ascii_lower(c) - 'a' + 10 : 99;
}

static struct value literal(struct evaluation *e, const char *text, size_t length)
{
    struct value value = {0};
    unsigned base = 10;
    if (length > 1 && (text[length - 1] == 'U' || text[length - 1] == 'u')) {
        value.is_unsigned = true;
        length--;
    }
    if (length > 2 && text[0] == '0' && strchr("xXbB", text[1])) {
        base = ascii_lower(text[1]) == 'x' ? 16 : 2;
        text += 2;
        length -= 2;
    } else if (length > 1 && text[0] == '0') {
        base = 8;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)digit_of(text[i]);
        if (digit >= base || __builtin_mul_overflow(value.bits, base, &value.bits) ||
            __builtin_add_overflow(value.bits, digit, &value.bits))
            return ptx_constant_fail(e);
    }
    value.is_unsigned |= value.bits > INT64_MAX;
    return value;
}

static struct value ptx_constant_operand(struct evaluation *e);

static struct value in_parentheses(struct evaluation *e)
{
    if (ptx_token_is(&e->scanner->token, ".s64") || ptx_token_is(&e->scanner->token, ".u64")) {
        bool is_unsigned = ptx_token_is(&e->scanner->token, ".u64");
        scanner_advance(e->scanner);
        if (!ptx_constant_take(e, ")"))
            return ptx_constant_fail(e);
        return (struct value){ptx_constant_operand(e).bits, is_unsigned};
    }
    struct value value = conditional(e);
    return ptx_constant_take(e, ")") ? value : ptx_constant_fail(e);
}

static struct value ptx_constant_operand(struct evaluation *e)
{
    const struct ptx_token token = e->scanner->token;
    struct value value = {0};
    if (e->failed || ++e->depth > DEPTH_MAX || !token.length)
        return ptx_constant_fail(e);
    scanner_advance(e->scanner);
    if (ptx_token_is(&token, "(")) {
        value = in_parentheses(e);
    } else if (ptx_token_is(&token, "-")) {
        value = ptx_constant_operand(e);
        value.bits = -value.bits;
    } else if (ptx_token_is(&token, "+")) {
        value = ptx_constant_operand(e);
    } else if (ptx_token_is(&token, "~")) {
        value = ptx_constant_operand(e);
        value.bits = ~value.bits;
    } else if (ptx_token_is(&token, "!")) {
        value = (struct value){!ptx_constant_operand(e).bits, false};
    } else if (ptx_token_is(&token, "WARP_SZ")) {
        value.bits = 32;
    } else {
        value = literal(e, token.text, token.length);
    }
    e->depth--;
    return value;
}

static struct value ptx_constant_divide(struct evaluation *e, struct value a, struct value b,
                                        bool remainder)
{
    bool is_unsigned = a.is_unsigned || b.is_unsigned;
    int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
    if (!y || (!is_unsigned && x == INT64_MIN && y == -1))
        return ptx_constant_fail(e);
    uint64_t bits = is_unsigned ? (remainder ? a.bits % b.bits : a.bits / b.bits)
                                : (uint64_t)(remainder ? x % y : x / y);
    return (struct value){bits, is_unsigned};
}

static struct value shift(struct value a, uint64_t by, bool left)
{
    bool negative = !a.is_unsigned && (int64_t)a.bits < 0;
    if (by > 63)
        a.bits = !left && negative ? UINT64_MAX : 0;
    else if (left)
        a.bits <<= by;
    else
        a.bits = a.is_unsigned ? a.bits >> by : (uint64_t)((int64_t)a.bits >> by);
    return a;
}

static bool ptx_constant_below(struct value a, struct value b)
{
    return a.is_unsigned || b.is_unsigned ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
}

// An amount that does not fit is no size of anything.
static struct value arithmetic(struct evaluation *e, int kind, struct value a, struct value b)
{
    struct value value = {.is_unsigned = a.is_unsigned || b.is_unsigned};
    int64_t x = (int64_t)a.bits, y = (int64_t)b.bits, result;
    bool overflow;
    if (value.is_unsigned) {
        overflow = kind == MULTIPLY ? __builtin_mul_overflow(a.bits, b.bits, &value.bits)
                   : kind == ADD    ? __builtin_add_overflow(a.bits, b.bits, &value.bits)
                                    : __builtin_sub_overflow(a.bits, b.bits, &value.bits);
    } else {
        overflow = kind == MULTIPLY ? __builtin_mul_overflow(x, y, &result)
                   : kind == ADD    ? __builtin_add_overflow(x, y, &result)
                                    : __builtin_sub_overflow(x, y, &result);
        value.bits = (uint64_t)result;
    }
    return overflow ? ptx_constant_fail(e) : value;
}

static struct value ptx_constant_apply(struct evaluation *e, const struct operator* by,
                                       struct value a, struct value b)
{
    bool is_unsigned = a.is_unsigned || b.is_unsigned;
    switch (by->kind) {
    case MULTIPLY:
    case ADD:
    case SUBTRACT: return arithmetic(e, by->kind, a, b);
    case DIVIDE:
    case REMAINDER: return ptx_constant_divide(e, a, b, by->kind == REMAINDER);
    case LEFT:
    case RIGHT: return shift(a, b.bits, by->kind == LEFT);
    case AND: return (struct value){a.bits & b.bits, is_unsigned};
    case XOR: return (struct value){a.bits ^ b.bits, is_unsigned};
    case OR: return (struct value){a.bits | b.bits, is_unsigned};
    case BELOW: return (struct value){ptx_constant_below(a, b), false};
    case ABOVE: return (struct value){ptx_constant_below(b, a), false};
    case NOT_ABOVE: return (struct value){!ptx_constant_below(b, a), false};
    case NOT_BELOW: return (struct value){!ptx_constant_below(a, b), false};
    case EQUAL: return (struct value){a.bits == b.bits, false};
    case UNEQUAL: return (struct value){a.bits != b.bits, false};
    case BOTH: return (struct value){a.bits && b.bits, false};
    case EITHER: return (struct value){a.bits || b.bits, false};
    }
    return ptx_constant_fail(e);
}

// Operands joined by operators of at least PRECEDENCE.
static struct value joined(struct evaluation *e, int precedence)
{
    struct value left = ptx_constant_operand(e);
    const struct operator* found;
    while (!e->failed && (found = operator_here(e->scanner)) && found->precedence >= precedence) {
        e->scanner->at = e->scanner->token.text + strlen(found->text);
        scanner_advance(e->scanner);
        left = ptx_constant_apply(e, found, left, joined(e, found->precedence + 1));
    }
    return left;
}

static struct value conditional(struct evaluation *e)
{
    struct value condition = joined(e, 0);
    if (!ptx_token_is(&e->scanner->token, "?"))
        return condition;
    scanner_advance(e->scanner);
    if (++e->depth > DEPTH_MAX)
        return ptx_constant_fail(e);
    struct value chosen = conditional(e);
    if (!ptx_constant_take(e, ":"))
        return ptx_constant_fail(e);
    struct value other = conditional(e);
    e->depth--;
    return condition.bits ? chosen : other;
}

bool scanner_constant(struct scanner *scanner, uint64_t *value)
{
    struct evaluation evaluation = {.scanner = scanner};
    struct value result = conditional(&evaluation);
    if (evaluation.failed || (!result.is_unsigned && (int64_t)result.bits < 0))
        return false;
    *value = result.bits;
    return true;
}
