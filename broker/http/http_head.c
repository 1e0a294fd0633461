// SPDX-License-Identifier: BSD-3-Clause
#include "broker/http/http_head.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum evhttp_cmd_type method;
} methods[] = {
    {"GET", EVHTTP_REQ_GET},
    {"POST", EVHTTP_REQ_POST},
    {"PUT", EVHTTP_REQ_PUT},
    {"DELETE", EVHTTP_REQ_DELETE},
};

// Cuts the next line, which ends in CR LF; NULL where it does not, or has other control characters
// than tabs.
static char *http_head_take_line(char **at)
{
    char *line = *at, *end = line;

    while ((unsigned char)*end >= 0x20 || *end == '\t')
        if (*end++ == 0x7f)
            return NULL;
    if (end[0] != '\r' || end[1] != '\n')
        return NULL;
    *end = '\0';
    *at = end + 2;
    return line;
}

static bool is_token(const char *text)
{
    static const char others[] = "!#$%&'*+-.^_`|~0123456789"
                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return *text && text[strspn(text, others)] == '\0';
}

// Parameters are parsed before the sender is known, and thousands of them take the processor for
// milliseconds. The API has no path with more than 7.
enum { PARAMETERS_MAX = 64 };

static bool is_target(const char *text)
{
    int separators = 0;

    for (const char *at = text; *at; at++) {
        if ((unsigned char)*at <= 0x20 || (unsigned char)*at >= 0x7f || *at == '#')
            return false;
        separators += *at == '&';
    }
    return *text == '/' && separators < PARAMETERS_MAX;
}

// METHOD SP TARGET SP HTTP/1.x
static bool read_request_line(char *line, struct http_head *head)
{
    char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

    if (!version)
        return false;
    *target++ = '\0';
    *version++ = '\0';
    if (!is_token(line) || !is_target(target) ||
        (strcmp(version, "HTTP/1.1") && strcmp(version, "HTTP/1.0")))
        return false;
    head->method_name = line;
    head->target = target;
    head->keep_alive = version[7] == '1';
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (!strcmp(methods[i].name, line))
            head->method = methods[i].method;
    return true;
}

static bool http_head_read_size(const char *text, size_t *size)
{
    size_t number = 0, digits = strspn(text, "0123456789");

    if (digits == 0 || text[digits])
        return false;
    for (; *text; text++) {
        number = number * 10 + (size_t)(*text - '0');
        if (number > HTTP_BODY_MAX)
            number = HTTP_BODY_MAX + 1;
    }
    *size = number;
    return true;
}

// Returns true if a list separated by commas has the word.
static bool http_head_lists(const char *list, const char *word)
{
    size_t size = strlen(word);

    while (*list) {
        size_t entry;

        list += strspn(list, ", \t");
        entry = strcspn(list, ", \t");
        if (entry == size && !strncasecmp(list, word, size))
            return true;
        list += entry;
    }
    return false;
}

// Headers that are kept as they are. Each may be there once.
static const struct {
    const char *name;
    size_t at;
} kept[] = {
    {"Authorization", offsetof(struct http_head, authorization)},
    {"Content-SHA256", offsetof(struct http_head, body_digest)},
    {"Content-Type", offsetof(struct http_head, content_type)},
    {"Host", offsetof(struct http_head, host)},
    {"Origin", offsetof(struct http_head, origin)},
    {"Sec-Fetch-Site", offsetof(struct http_head, fetch_site)},
};

// Refuses a head that two readers could understand differently, such as one with a repeated field.
static int read_field(const char *name, const char *value, bool *has_size, struct http_head *head,
                      const char **why)
{
    *why = "a header is there twice";
    if (!strcasecmp(name, "Transfer-Encoding")) {
        *why = "a body needs its Content-Length";
        return 501;
    }
    if (!strcasecmp(name, "Content-Length")) {
        if (*has_size)
            return 400;
        *has_size = true;
        *why = "the Content-Length is no number";
        return http_head_read_size(value, &head->body_size) ? 0 : 400;
    }
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        const char **place = (const char **)((char *)head + kept[i].at);

        if (strcasecmp(name, kept[i].name))
            continue;
        if (*place)
            return 400;
        *place = value;
    }
    if (!strcasecmp(name, "Connection")) {
        if (http_head_lists(value, "close"))
            head->keep_alive = false;
        return 0;
    }
    if (!strcasecmp(name, "Expect")) {
        *why = "this expectation is not met here";
        head->expects_continue = true;
        return strcasecmp(value, "100-continue") ? 417 : 0;
    }
    return 0;
}

// NAME ":" VALUE, without the blanks around the value.
static bool split_field(char *line, char **value)
{
    char *colon = strchr(line, ':'), *end;

    if (!colon)
        return false;
    *colon = '\0';
    *value = colon + 1 + strspn(colon + 1, " \t");
    end = *value + strlen(*value);
    while (end > *value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    return is_token(line);
}

int http_head_parse(char *text, size_t size, struct http_head *head, const char **why)
{
    bool has_size = false;
    char *at = text, *line = http_head_take_line(&at);
    int status = 0;

    memset(head, 0, sizeof(*head));
    *why = "this is no HTTP/1.1 request";
    if (!line || !read_request_line(line, head))
        return 400;
    while (!status) {
        char *value;

        *why = "a header is not NAME: VALUE";
        line = http_head_take_line(&at);
        if (!line)
            return 400;
        if (!*line)
            break;
        if (!split_field(line, &value))
            return 400;
        status = read_field(line, value, &has_size, head, why);
    }
    if (status)
        return status;
    if (at != text + size)
        return 400;
    *why = "a GET request has no body";
    if (head->method == EVHTTP_REQ_GET && head->body_size > 0)
        return 400;
    *why = "the body is too large";
    return head->body_size > HTTP_BODY_MAX ? 413 : 0;
}
