// SPDX-License-Identifier: BSD-3-Clause
// One request to a broker over its unix socket, and values of its answers. Tests poll the broker
// with it, so it starts fast.
//   broker-api SOCKET METHOD PATH [JSON]   prints the answer; status 1 unless the broker's status
//                                          was below 300
//   broker-api --at lease.gpus.0.box       prints the value at this path of the JSON on standard
//                                          input, "" if a name is missing;
//                                          # is the length of a list
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/http_exchange.h"

enum { TIMEOUT_MS = 30000 };

static int request(const char *path, int count, char **words)
{
    struct endpoint broker = {.is_unix = true};
    struct http_answer answer = {0};
    struct http_request asked = {words[0], words[1], "broker", "", count > 2 ? words[2] : ""};

    if (strlen(path) >= sizeof broker.host) {
        fprintf(stderr, "broker-api: %s: the path is too long\n", path);
        return 1;
    }
    strcpy(broker.host, path);
    int error = http_exchange(&broker, TIMEOUT_MS, &asked, &answer);
    if (error) {
        fprintf(stderr, "broker-api: %s: %s\n", path, strerror(-error));
        return 1;
    }
    puts(answer.body);
    free(answer.body);
    return answer.status >= 300;
}

// Python's words for values other than strings, because the scripts of these tests print them so.
static void print(const json_t *value)
{
    if (json_is_string(value))
        puts(json_string_value(value));
    else if (json_is_null(value))
        puts("None");
    else if (json_is_boolean(value))
        puts(json_is_true(value) ? "True" : "False");
    else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        puts(text);
        free(text);
    }
}

static int value_at(char *path)
{
    json_error_t error;
    json_t *root = json_loadf(stdin, JSON_ALLOW_NUL, &error), *value = root, *length = NULL;
    int status = 0;

    if (!root) {
        fprintf(stderr, "broker-api: %s\n", error.text);
        return 1;
    }
    for (char *name = strtok(path, "."); name && !status; name = strtok(NULL, ".")) {
        if (!json_is_array(value)) {
            value = json_object_get(value, name);
        } else if (!strcmp(name, "#")) {
            value = length = json_integer((json_int_t)json_array_size(value));
        } else {
            value = json_array_get(value, (size_t)atoi(name));
            status = !value;
        }
    }
    if (status)
        fputs("broker-api: a list has fewer elements\n", stderr);
    else if (value)
        print(value);
    else
        puts("");
    json_decref(length);
    json_decref(root);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--at"))
        return value_at(argv[2]);
    if (argc != 4 && argc != 5) {
        fputs("usage: broker-api SOCKET METHOD PATH [JSON]\n       broker-api --at PATH\n", stderr);
        return 2;
    }
    return request(argv[1], argc - 2, argv + 2);
}
