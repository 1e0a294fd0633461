// SPDX-License-Identifier: BSD-3-Clause
// Functions of the client: reading bundles and secrets.
#include "common/security/ticket.h"
#include "common/base/scope.h"
#include "common/base/uuid_text.h"
#include "common/security/ticket_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int base64url_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

// The bytes that SIZE characters stand for, 3 for 4 of them: how many there are, or -EBADMSG.
static ssize_t decode(const char *text, size_t size, uint8_t *out)
{
    uint32_t bits = 0;
    size_t count = 0, used = 0;

    for (size_t i = 0; i < size; i++) {
        int digit = base64url_digit(text[i]);
        if (digit < 0)
            return -EBADMSG;
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[used++] = (uint8_t)(bits >> count);
        }
    }
    return (ssize_t)used;
}

// The 43 characters that are a signature of 32 bytes, and nothing else.
static int decode_signature(const char *text, uint8_t signature[SHA256_SIZE])
{
    return strlen(text) == 43 && decode(text, 43, signature) == SHA256_SIZE ? 0 : -EBADMSG;
}

size_t ticket_public_size(const char *token)
{
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;

    if (!second || first == token || second == first + 1 || !second[1] || strchr(second + 1, '.'))
        return 0;
    return (size_t)(second - token);
}

int ticket_secret(const char *token, uint8_t secret[SHA256_SIZE])
{
    size_t size = ticket_public_size(token);

    return size ? decode_signature(token + size + 1, secret) : -EBADMSG;
}

// Returns the payload of a token as text, which the caller frees; NULL if it is no token, or
// without memory.
static char *payload_text(const struct ticket_entry *entry)
{
    const char *payload = strchr(entry->token, '.') + 1;
    char *text = calloc(1, entry->public_size);

    if (text && decode(payload, entry->public_size - (size_t)(payload - entry->token),
                       (uint8_t *)text) < 0) {
        free(text);
        return NULL;
    }
    return text;
}

int ticket_lease(const struct ticket_entry *entry, char lease[TICKET_NAME_MAX])
{
    static const char name[] = "\"sub\":\"";
    SCOPED_FREE char *text = payload_text(entry);
    const char *at = text ? strstr(text, name) : NULL;
    size_t length;

    at = at ? at + strlen(name) : "";
    length = strcspn(at, "\"");
    if (!length || length >= TICKET_NAME_MAX)
        return -EBADMSG;
    memcpy(lease, at, length);
    lease[length] = '\0';
    return 0;
}

bool ticket_names_gpu(const struct ticket_entry *entry, const uint8_t uuid[16])
{
    SCOPED_FREE char *text = payload_text(entry);
    char name[UUID_TEXT];

    uuid_text(uuid, name);
    return text && strcasestr(text, name);
}

static bool safe_token(const char *token)
{
    return strlen(token) <= TICKET_TOKEN_MAX && ticket_public_size(token) > 0;
}

static int ticket_parse_line(char *line, struct ticket_bundle *bundle)
{
    char *position = NULL;
    char *box = strtok_r(line, " \t\r", &position);
    char *addresses = strtok_r(NULL, " \t\r", &position);
    char *token = strtok_r(NULL, " \t\r", &position);
    struct ticket_entry *entries;

    if (!box || *box == '#')
        return 0;
    if (!token || strtok_r(NULL, " \t\r", &position) || !safe_token(token) ||
        strlen(box) >= TICKET_NAME_MAX)
        return -EBADMSG;
    entries = realloc(bundle->entries, (bundle->count + 1) * sizeof(*entries));
    if (!entries)
        return -ENOMEM;
    bundle->entries = entries;
    entries[bundle->count++] = (struct ticket_entry){
        .box = box,
        .addresses = addresses,
        .token = token,
        .public_size = ticket_public_size(token),
    };
    return 0;
}

int ticket_bundle_parse(const char *text, size_t size, struct ticket_bundle *bundle)
{
    struct ticket_bundle out = {0};
    char *position = NULL;
    int error = 0;

    if (size > TICKET_BUNDLE_MAX || memchr(text, '\0', size))
        return -EBADMSG;
    out.text = strndup(text, size);
    if (!out.text)
        return -ENOMEM;
    for (char *line = strtok_r(out.text, "\n;", &position); line && !error;
         line = strtok_r(NULL, "\n;", &position))
        error = ticket_parse_line(line, &out);
    if (!error && out.count == 0)
        error = -EBADMSG;
    if (error)
        ticket_bundle_free(&out);
    else
        *bundle = out;
    return error;
}

int ticket_bundle_load_file(const char *path, struct ticket_bundle *bundle)
{
    SCOPED_FREE char *text = NULL;
    size_t size;
    int error = ticket_read_private(path, TICKET_BUNDLE_MAX, &text, &size);

    if (error)
        return error;
    error = ticket_bundle_parse(text, size, bundle);
    explicit_bzero(text, size);
    return error;
}

int ticket_bundle_load(struct ticket_bundle *bundle)
{
    const char *text = secure_getenv("RGPU_TICKET");
    const char *path = secure_getenv("RGPU_TICKET_FILE");

    if (text && *text)
        return ticket_bundle_parse(text, strlen(text), bundle);
    if (path && *path)
        return ticket_bundle_load_file(path, bundle);
    return -ENOENT;
}

int ticket_bundle_load_of_job(struct ticket_bundle *bundle)
{
    const char *path = secure_getenv("RGPU_JOB_TICKET_FILE");

    return path && *path ? ticket_bundle_load_file(path, bundle) : ticket_bundle_load(bundle);
}

void ticket_bundle_free(struct ticket_bundle *bundle)
{
    if (bundle->text) {
        for (size_t i = 0; i < bundle->count; i++)
            explicit_bzero((char *)bundle->entries[i].token, strlen(bundle->entries[i].token));
        free(bundle->text);
    }
    free(bundle->entries);
    *bundle = (struct ticket_bundle){0};
}
