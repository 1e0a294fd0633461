// SPDX-License-Identifier: BSD-3-Clause
#include "broker/replication/etcd.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/scope.h"

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>

enum { CONNECT_MS = 500 };

struct etcd {
    const struct etcd_access *access;
    CURL *curl;
    struct curl_slist *headers;
    size_t count, at; // endpoints, and the one in use
    char error[256 + CURL_ERROR_SIZE], detail[CURL_ERROR_SIZE];
};

// ---- libcurl, which only brokers with replication load ----

#define CURL_CALLS(CALL) \
    CALL(curl_easy_init) \
    CALL(curl_easy_setopt) \
    CALL(curl_easy_perform) \
    CALL(curl_easy_cleanup) \
    CALL(curl_easy_strerror) \
    CALL(curl_slist_append) \
    CALL(curl_slist_free_all)

#undef curl_easy_setopt // checks types of direct calls
static struct {
#define MEMBER(name) __typeof__(&name) name;
    CURL_CALLS(MEMBER)
#undef MEMBER
    bool loaded;
} lib;

static void load_curl(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *handle = NULL;

    for (size_t i = 0; !handle && i < sizeof(names) / sizeof(names[0]); i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        log_error("replication needs libcurl: %s", dlerror());
        return;
    }
    lib.loaded = true;
#define LOAD(name) lib.loaded &= (lib.name = (__typeof__(lib.name))dlsym(handle, #name)) != NULL;
    CURL_CALLS(LOAD)
#undef LOAD
}

// ---- opening ----

static const char *file_or_null(const char *path)
{
    return path && *path ? path : NULL;
}

int etcd_open(const struct etcd_access *access, struct etcd **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct etcd *etcd;

    pthread_once(&once, load_curl);
    if (!lib.loaded)
        return -ENOTSUP;
    etcd = calloc(1, sizeof(*etcd));
    if (!etcd)
        return -ENOMEM;
    etcd->access = access;
    while (access->endpoints[etcd->count])
        etcd->count++;
    etcd->curl = lib.curl_easy_init();
    etcd->headers = lib.curl_slist_append(NULL, "Expect:"); // large bodies are sent at once
    if (!etcd->curl || !etcd->headers || !etcd->count) {
        etcd_close(&etcd);
        return -ENOMEM;
    }
    lib.curl_easy_setopt(etcd->curl, CURLOPT_NOSIGNAL, 1L);
    lib.curl_easy_setopt(etcd->curl, CURLOPT_PROXY, "");
    lib.curl_easy_setopt(etcd->curl, CURLOPT_HTTPHEADER, etcd->headers);
    lib.curl_easy_setopt(etcd->curl, CURLOPT_ERRORBUFFER, etcd->detail);
    lib.curl_easy_setopt(etcd->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    if (file_or_null(access->ca))
        lib.curl_easy_setopt(etcd->curl, CURLOPT_CAINFO, access->ca);
    lib.curl_easy_setopt(etcd->curl, CURLOPT_SSLCERT, file_or_null(access->cert));
    lib.curl_easy_setopt(etcd->curl, CURLOPT_SSLKEY, file_or_null(access->key));
    *out = etcd;
    return 0;
}

void etcd_close(struct etcd **etcd)
{
    if (!*etcd)
        return;
    lib.curl_easy_cleanup((*etcd)->curl);
    lib.curl_slist_free_all((*etcd)->headers);
    free(*etcd);
    *etcd = NULL;
}

const char *etcd_error(const struct etcd *etcd)
{
    return etcd->error;
}

// ---- calls ----

static json_t *read_answer(struct etcd *etcd, const char *endpoint, CURLcode code, const char *text,
                           size_t size)
{
    json_t *answer = code == CURLE_OK ? json_loadb(text, size, 0, NULL) : NULL;
    const char *refusal = json_string_value(json_object_get(answer, "error"));

    if (answer && !json_object_get(answer, "error"))
        return answer;
    snprintf(etcd->error, sizeof(etcd->error), "%s: %s", endpoint,
             code != CURLE_OK && *etcd->detail ? etcd->detail
             : code != CURLE_OK                ? lib.curl_easy_strerror(code)
             : refusal                         ? refusal
                                               : "the answer is not understood");
    json_decref(answer);
    return NULL;
}

static json_t *call_endpoint(struct etcd *etcd, const char *path, const char *body, long timeout_ms)
{
    const char *endpoint = etcd->access->endpoints[etcd->at];
    SCOPED_FREE char *url = NULL, *text = NULL;
    size_t size = 0;
    FILE *out;
    CURLcode code;

    if (asprintf(&url, "%s%s", endpoint, path) < 0)
        return NULL;
    out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    *etcd->detail = '\0';
    lib.curl_easy_setopt(etcd->curl, CURLOPT_URL, url);
    lib.curl_easy_setopt(etcd->curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
    lib.curl_easy_setopt(etcd->curl, CURLOPT_POSTFIELDS, body);
    lib.curl_easy_setopt(etcd->curl, CURLOPT_TIMEOUT_MS, timeout_ms);
    lib.curl_easy_setopt(etcd->curl, CURLOPT_WRITEDATA, out);
    code = lib.curl_easy_perform(etcd->curl);
    fclose(out);
    return read_answer(etcd, endpoint, code, text, size);
}

json_t *etcd_call(struct etcd *etcd, const char *path, json_t *body, long timeout_ms)
{
    SCOPED_FREE char *text = json_dumps(body, JSON_COMPACT);
    json_t *answer = NULL;

    json_decref(body);
    for (size_t i = 0; text && !answer && i < etcd->count; i++) {
        answer = call_endpoint(etcd, path, text, timeout_ms);
        if (!answer)
            etcd->at = (etcd->at + 1) % etcd->count;
    }
    return answer;
}

#else // built without libcurl's header: opening a client fails

int etcd_open(const struct etcd_access *access, struct etcd **etcd)
{
    (void)access;
    (void)etcd;
    return -ENOTSUP;
}

void etcd_close(struct etcd **etcd)
{
    (void)etcd;
}

json_t *etcd_call(struct etcd *etcd, const char *path, json_t *body, long timeout_ms)
{
    (void)etcd;
    (void)path;
    (void)timeout_ms;
    json_decref(body);
    return NULL;
}

const char *etcd_error(const struct etcd *etcd)
{
    (void)etcd;
    return "built without libcurl";
}

#endif
