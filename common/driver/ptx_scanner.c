// SPDX-License-Identifier: BSD-3-Clause
#include "common/driver/ptx_scanner.h"

#include <string.h>

#include "common/base/ascii.h"

static bool in_word(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '$' || c == '%';
}

// Directives, and the names in front of them, need nothing between them. The dots of an instruction
// are its own, and instructions are only in the bodies of functions.
static const char *behind_word(const char *at, const char *end, bool in_body)
{
    bool directive = *at == '.';

    for (at++; at < end && (in_word(*at) || (*at == '.' && in_body && !directive));)
        at++;
    return at;
}

// A directive may follow a number at once; the letter of an exponent belongs to the number.
static bool begins_directive(const char *at, const char *end)
{
    char next = end - at > 1 ? ascii_lower(at[1]) : '0';

    return *at == '.' && !ascii_is_digit(next) && ascii_is_alnum(next) && next != 'e';
}

static const char *behind_number(const char *at, const char *end)
{
    while (at < end && (ascii_is_alnum(*at) || *at == '.') && !begins_directive(at, end))
        at++;
    return at;
}

static const char *behind_comment(const char *at, const char *end)
{
    if (at[1] == '/') {
        while (at < end && *at != '\n' && *at != '\r')
            at++;
        return at;
    }
    const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
    return close ? close + 2 : end;
}

// A string ends at its second quote. One that another reader might read on is not accepted.
static const char *behind_string(struct scanner *scanner, const char *at)
{
    const char *close = memchr(at + 1, '"', (size_t)(scanner->end - at - 1));

    if (!close || close[-1] == '\\' || memchr(at, '\n', (size_t)(close - at))) {
        scanner->unreadable = true;
        return scanner->end;
    }
    return close + 1;
}

static void note_brace(struct scanner *scanner, char c)
{
    if (c == '{')
        scanner->depth++;
    else if (c == '}' && scanner->depth)
        scanner->depth--;
}

void scanner_advance(struct scanner *scanner)
{
    const char *at = scanner->at, *end = scanner->end;
    while (at < end) {
        if (ascii_is_space(*at))
            at++;
        else if (end - at > 1 && *at == '/' && (at[1] == '/' || at[1] == '*'))
            at = behind_comment(at, end);
        else
            break;
    }
    scanner->token.text = at;
    if (at < end && ascii_is_digit(*at))
        at = behind_number(at, end);
    else if (at < end && (in_word(*at) || *at == '.'))
        at = behind_word(at, end, scanner->depth > 0);
    else if (at < end && *at == '"')
        at = behind_string(scanner, at);
    else if (at < end)
        note_brace(scanner, *at++);
    scanner->token.length = (size_t)(at - scanner->token.text);
    scanner->at = at;
}

bool ptx_token_is(const struct ptx_token *token, const char *text)
{
    return token->length == strlen(text) && !memcmp(token->text, text, token->length);
}
