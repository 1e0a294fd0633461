// SPDX-License-Identifier: BSD-3-Clause
// Bytes and numbers as etcd's JSON has them.
#include <stdlib.h>
#include <string.h>

#include "broker/replication/etcd.h"
#include "common/base/scope.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

json_t *etcd_bytes(const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    size_t length = (size + 2) / 3 * 4;
    SCOPED_FREE char *text = malloc(length + 1);

    for (size_t i = 0, to = 0; text && i < size; i += 3) {
        size_t count = size - i < 3 ? size - i : 3;
        uint32_t group = (uint32_t)from[i] << 16 | (count > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                         (count > 2 ? from[i + 2] : 0);

        for (size_t j = 0; j < 4; j++)
            text[to++] = j > count ? '=' : digits[group >> (18 - 6 * j) & 63];
    }
    return text ? json_stringn(text, length) : NULL;
}

json_t *etcd_text(const char *text)
{
    return etcd_bytes(text, strlen(text));
}

uint8_t *etcd_decode(const json_t *string, size_t *size)
{
    const char *text = json_string_value(string);
    uint8_t *bytes = text ? malloc(strlen(text) / 4 * 3 + 3) : NULL;
    uint32_t group = 0;
    int bits = 0;

    if (!bytes)
        return NULL;
    *size = 0;
    for (; *text && *text != '='; text++) {
        const char *digit = strchr(digits, *text);

        if (!digit) {
            free(bytes);
            return NULL;
        }
        group = group << 6 | (uint32_t)(digit - digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes[(*size)++] = (uint8_t)(group >> bits);
        }
    }
    bytes[*size] = '\0';
    return bytes;
}

int64_t etcd_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return json_is_string(value) ? strtoll(json_string_value(value), NULL, 10)
                                 : (int64_t)json_integer_value(value);
}
