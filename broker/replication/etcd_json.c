// SPDX-License-Identifier: BSD-3-Clause
// Bytes and numbers as etcd's JSON has them.
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "broker/replication/etcd.h"
#include "common/base/scope.h"

json_t *etcd_bytes(const void *bytes, size_t size)
{
    size_t length = BASE64_ENCODE_RAW_LENGTH(size);
    SCOPED_FREE char *text = malloc(length + 1);

    if (!text)
        return NULL;
    base64_encode_raw(text, size, bytes);
    return json_stringn(text, length);
}

json_t *etcd_text(const char *text)
{
    return etcd_bytes(text, strlen(text));
}

uint8_t *etcd_decode(const json_t *string, size_t *size)
{
    size_t length = json_string_length(string);
    uint8_t *bytes = json_is_string(string) ? malloc(BASE64_DECODE_LENGTH(length) + 1) : NULL;
    struct base64_decode_ctx context;

    if (!bytes)
        return NULL;
    base64_decode_init(&context);
    if (!base64_decode_update(&context, size, bytes, length, json_string_value(string)) ||
        !base64_decode_final(&context)) {
        free(bytes);
        return NULL;
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
