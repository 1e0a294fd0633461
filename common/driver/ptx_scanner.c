// SPDX-License-Identifier: BSD-3-Clause
// Cutting a PTX text into tokens.
#include "common/driver/ptx_scanner.h"

#include <string.h>

#include "common/ascii.h"

static bool in_word(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static const char *behind_comment(const char *at, const char *end)
{
    if (at[1] == '/') {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        return line ? line : end;
    }
    const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
    return close ? close + 2 : end;
}

// Words with their dots, and single characters. A string is one token.
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
    if (at < end && ascii_is_digit(*at)) {
        while (at < end && (ascii_is_alnum(*at) || *at == '.'))
            at++;
    } else if (at < end && in_word(*at)) {
        while (at < end && in_word(*at))
            at++;
    } else if (at < end && *at == '"') {
        const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
        at = close ? close + 1 : end;
    } else if (at < end) {
        at++;
    }
    scanner->token.length = (size_t)(at - scanner->token.text);
    scanner->at = at;
}

bool ptx_token_is(const struct ptx_token *token, const char *text)
{
    return token->length == strlen(text) && !memcmp(token->text, text, token->length);
}
