// SPDX-License-Identifier: BSD-3-Clause
// Character classes without the C library's tables. These depend on the locale, and a thread of a
// statically linked program that loads this library has none.
#ifndef RGPU_COMMON_ASCII_H
#define RGPU_COMMON_ASCII_H

#include <stdbool.h>

static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool ascii_is_hex_digit(char c)
{
    return ascii_is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'f');
}

static inline bool ascii_is_alnum(char c)
{
    return ascii_is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z');
}

static inline bool ascii_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

#endif
