// SPDX-License-Identifier: GPL-2.0-or-later
// Parses the request of a job.
#include "slurm-plugin/request/job_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"

#define OPTION_PREFIX "_SLURM_SPANK_OPTION_rgpu_"
// One lease cannot have more.
#define GPUS_PER_NODE_MAX 1024

// ---- --gres ----

static bool is_count(const char *text, uint64_t *count)
{
    char *end;

    *count = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end;
}

static bool is_type(const char *text)
{
    return isalpha((unsigned char)*text) && strlen(text) < GPU_TYPE_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+") ==
               strlen(text);
}

// Parses the rest after "rgpu": "", ":2", ":h200" or ":h200:2".
static bool parse_rest(char *rest, char *type, uint64_t *count)
{
    char *colon;

    *count = 1;
    *type = '\0';
    if (!*rest)
        return true;
    rest++;
    if (is_count(rest, count))
        return true;
    *count = 1;
    colon = strpbrk(rest, ":=");
    if (colon) {
        *colon = '\0';
        if (!is_count(colon + 1, count))
            return false;
    }
    if (!is_type(rest))
        return false;
    strcpy(type, rest);
    return true;
}

// One entry such as "gres:rgpu:2": 0 and its count, -ENOENT where it is of another kind.
static int parse_entry(const char *entry, size_t size, char *type, uint64_t *count,
                       const char **why)
{
    char rest[128];

    if (size > 5 && (!strncmp(entry, "gres:", 5) || !strncmp(entry, "gres/", 5)))
        entry += 5, size -= 5;
    if (size < 4 || strncmp(entry, "rgpu", 4) || (size > 4 && entry[4] != ':' && entry[4] != '='))
        return -ENOENT;
    if (size - 4 < sizeof(rest)) {
        snprintf(rest, sizeof(rest), "%.*s", (int)(size - 4), entry + 4);
        if (parse_rest(rest, type, count))
            return 0;
    }
    *why = "rgpu: --gres=rgpu takes a count, or a model and a count: --gres=rgpu:h200:2";
    return -EINVAL;
}

static int parse_gres(const char *gres, struct gpu_request *request, uint64_t *total,
                      const char **why)
{
    *total = 0;
    while (gres && *gres) {
        size_t size = strcspn(gres, ",;");
        char type[GPU_TYPE_MAX];
        uint64_t count;
        int error = parse_entry(gres, size, type, &count, why);

        if (!error && *total && strcmp(type, request->type)) {
            *why = "rgpu: a job's GPUs are of one model, or any";
            error = -EINVAL;
        }
        if (error == -EINVAL)
            return error;
        if (!error && count) {
            *total += count;
            strcpy(request->type, type);
        }
        gres += size + (gres[size] != '\0');
    }
    if (*total > GPUS_PER_NODE_MAX) {
        *why = "rgpu: no job can have that many GPUs";
        return -EINVAL;
    }
    return 0;
}

// ---- the options ----

static const char *job_request_find_option(char *const *environment, size_t size, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < size; i++) {
        const char *entry = environment[i];
        if (!strncmp(entry, "SPANK_", 6))
            entry += 6;
        if (strncmp(entry, OPTION_PREFIX, strlen(OPTION_PREFIX)))
            continue;
        entry += strlen(OPTION_PREFIX);
        if (!strncmp(entry, name, length) && entry[length] == '=')
            return entry + length + 1;
    }
    return NULL;
}

bool gpu_options_given(char *const *environment, size_t size)
{
    static const char *const names[] = {"rgpu_mem", "rgpu_mode", "rgpu_compute", "rgpu_constraint"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (job_request_find_option(environment, size, names[i]))
            return true;
    return false;
}

static int parse_mode(const char *mode, struct gpu_request *request, const char **why)
{
    if (!mode)
        request->shared = request->memory > 0;
    else if (!strcmp(mode, "shared"))
        request->shared = true;
    else if (!strcmp(mode, "exclusive"))
        request->shared = false;
    else
        *why = "rgpu: --rgpu-mode is exclusive or shared";
    if (!*why && request->shared && request->memory == 0)
        *why = "rgpu: a share needs a memory budget: --rgpu-mem=SIZE, such as 10G";
    return *why ? -EINVAL : 0;
}

static int parse_constraint(const char *text, struct gpu_request *request, const char **why)
{
    static _Thread_local char sentence[320];
    json_t *scratch;
    char bad[96];
    int error;

    if (!text)
        return 0;
    if (strlen(text) >= sizeof(request->constraint)) {
        *why = "rgpu: --rgpu-constraint is too long";
        return -EINVAL;
    }
    scratch = json_object();
    error = broker_request_constrain(scratch, text, bad, sizeof(bad));
    json_decref(scratch);
    if (error == -EINVAL) {
        snprintf(
            sentence, sizeof(sentence),
            "rgpu: \"%s\" in --rgpu-constraint is not understood; "
            "it takes model=, box=, locality=, near=, min-memory=, min-capability=, compute=, policy=, "
            "protection=, same-box, different-boxes",
            bad);
        *why = sentence;
    }
    strcpy(request->constraint, text);
    return error;
}

// A part of the multiprocessors is a constraint to the broker.
static int add_compute(const char *percent, struct gpu_request *request, const char **why)
{
    size_t used = strlen(request->constraint);
    json_t *scratch = json_object();
    char word[64], bad[96];
    int n = snprintf(word, sizeof(word), "compute=%s", percent ? percent : "100");
    int error = n < (int)sizeof(word) ? broker_request_constrain(scratch, word, bad, sizeof(bad))
                                      : -EINVAL;

    json_decref(scratch);
    if (error)
        *why = "rgpu: --rgpu-compute is a number of percent such as 25%";
    else if (percent &&
             (size_t)snprintf(request->constraint + used, sizeof(request->constraint) - used,
                              "%s%s", used ? "," : "", word) >= sizeof(request->constraint) - used)
        *why = "rgpu: --rgpu-constraint is too long";
    return *why ? -EINVAL : 0;
}

// The type of --gres=rgpu:TYPE:N is part of a model's name.
static int add_type(struct gpu_request *request, const char **why)
{
    size_t used = strlen(request->constraint);
    const char *comma = used ? "," : "";

    if (!*request->type)
        return 0;
    if ((size_t)snprintf(request->constraint + used, sizeof(request->constraint) - used,
                         "%smodel=*%s*", comma, request->type) < sizeof(request->constraint) - used)
        return 0;
    *why = "rgpu: --rgpu-constraint is too long";
    return -EINVAL;
}

int gpu_request_parse(const char *gres, char *const *environment, size_t size,
                      struct gpu_request *request, const char **why)
{
    const char *memory = job_request_find_option(environment, size, "rgpu_mem");
    uint64_t count;
    int error;

    memset(request, 0, sizeof(*request));
    *why = NULL;
    error = parse_gres(gres, request, &count, why);
    if (error || count == 0)
        return error;
    request->per_node = (uint32_t)count;
    if (memory && (units_parse_size(memory, &request->memory) < 0 || request->memory == 0)) {
        *why = "rgpu: --rgpu-mem is a size such as 10G";
        return -EINVAL;
    }
    error = parse_mode(job_request_find_option(environment, size, "rgpu_mode"), request, why);
    if (!error)
        error = parse_constraint(job_request_find_option(environment, size, "rgpu_constraint"),
                                 request, why);
    if (!error)
        error =
            add_compute(job_request_find_option(environment, size, "rgpu_compute"), request, why);
    return error ? error : add_type(request, why);
}

char *gpu_request_without_type(const char *gres, const char *type)
{
    char *out = strdup(gres), part[GPU_TYPE_MAX + 8], *at;

    snprintf(part, sizeof(part), "rgpu:%s", type);
    while (out && (at = strstr(out, part)))
        memmove(at + 4, at + strlen(part), strlen(at + strlen(part)) + 1);
    return out;
}

// ---- as the broker takes it ----

void gpu_request_describe(const struct gpu_request *request, uint32_t nodes,
                          struct broker_acquire *acquire)
{
    acquire->mode = request->shared ? "shared" : "exclusive";
    acquire->count = request->per_node * nodes;
    acquire->memory = request->memory;
    acquire->constraint = request->constraint;
}

json_t *gpu_request_json(const struct gpu_request *request, uint32_t nodes)
{
    struct broker_acquire acquire = {0};
    json_t *object = NULL;
    char bad[96];

    gpu_request_describe(request, nodes, &acquire);
    return broker_acquire_request(&acquire, &object, bad, sizeof(bad)) < 0 ? NULL : object;
}

// ---- classes ----

// The name of a class is a function of the request alone, so that it outlives restarts of
// slurmctld: the request in words if it could be read back from these, else a hash.

// Slurm keeps spaces and ":=,;|@()" for itself; '+' stands between words of a name.
#define CLASS_PREFIX "rgpu_"
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%*-"

struct class_name {
    char *text;
    size_t used;
    bool readable; // all that was added fits, and could be read back
};

static void class_add(struct class_name *name, const char *text, size_t size)
{
    name->readable &= strspn(text, NAME_CHARACTERS) >= size && name->used + size < GPU_CLASS_MAX;
    if (!name->readable)
        return;
    memcpy(name->text + name->used, text, size);
    name->text[name->used += size] = '\0';
}

static void class_begin_word(struct class_name *name)
{
    if (name->used > strlen(CLASS_PREFIX) && name->used + 1 < GPU_CLASS_MAX)
        strcpy(name->text + name->used++, "+");
}

// A word of a constraint: "box=gpu01" becomes box_gpu01, and "model=*H200*" model_H200. No key has
// an underscore. A model without stars would look like one with a star at both ends.
static void class_add_constraint(struct class_name *name, const char *word, size_t size)
{
    const char *equals = memchr(word, '=', size);
    size_t key = equals ? (size_t)(equals - word) : size;

    class_begin_word(name);
    class_add(name, word, key);
    if (!equals)
        return;
    word += key + 1;
    size -= key + 1;
    if (key == strlen("model") && !strncmp(word - key - 1, "model", key)) {
        const char *star = memchr(word, '*', size);
        name->readable &= star != NULL;
        if (size > 2 && star == word && memchr(word + 1, '*', size - 1) == word + size - 1)
            word++, size -= 2;
    }
    class_add(name, "_", 1);
    class_add(name, word, size);
}

static void class_add_rest(struct class_name *name, const struct gpu_request *request,
                           uint32_t count)
{
    static const char *const units[] = {"", "K", "M", "G", "T"};
    uint64_t memory = request->memory;
    size_t unit = 0;
    char word[40];

    while (unit < 4 && memory && memory % 1024 == 0)
        memory /= 1024, unit++;
    if (memory) {
        class_begin_word(name);
        class_add(name, word,
                  (size_t)snprintf(word, sizeof(word), "%s_%llu%s",
                                   request->shared ? "share" : "memory", (unsigned long long)memory,
                                   units[unit]));
    }
    if (count > 1) {
        class_begin_word(name);
        class_add(name, word, (size_t)snprintf(word, sizeof(word), "x%u", count));
    }
}

static void class_hash(const struct gpu_request *request, uint32_t count, char *name)
{
    char text[GPU_CONSTRAINT_MAX + 64];
    uint64_t hash = 14695981039346656037ull;

    snprintf(text, sizeof(text), "%d %u %llu %s", request->shared, count,
             (unsigned long long)request->memory, request->constraint);
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211ull;
    snprintf(name, GPU_CLASS_MAX, "rgpu_%012llx", (unsigned long long)(hash >> 16));
}

void gpu_request_class(const struct gpu_request *request, uint32_t nodes, char name[GPU_CLASS_MAX])
{
    struct class_name words = {.text = name, .used = strlen(CLASS_PREFIX), .readable = true};
    const char *at = request->constraint;

    *name = '\0';
    if (request->per_node == 0 || (!*request->constraint && request->memory == 0))
        return;
    strcpy(name, CLASS_PREFIX);
    while (*at) {
        size_t size = strcspn(at, ",");
        class_add_constraint(&words, at, size);
        at += size + (at[size] == ',');
    }
    class_add_rest(&words, request, request->per_node * nodes);
    if (!words.readable)
        class_hash(request, request->per_node * nodes, name);
}

// ---- licences ----

bool gpu_is_class(const char *license)
{
    return !strncmp(license, "rgpu_", 5) && strcmp(license, "rgpu_mem") != 0;
}

void gpu_class_in(const char *licenses, char name[GPU_CLASS_MAX])
{
    *name = '\0';
    for (const char *at = licenses; at && *at; at += *at == ',') {
        size_t size = strcspn(at, ":=,");
        if (size < GPU_CLASS_MAX) {
            snprintf(name, GPU_CLASS_MAX, "%.*s", (int)size, at);
            if (gpu_is_class(name) && strcmp(name, GPU_CLASS_ANY) != 0)
                return;
        }
        at += strcspn(at, ",");
    }
    *name = '\0';
}

int gpu_request_licenses(const struct gpu_request *request, uint32_t nodes, char *text, size_t size)
{
    uint64_t units = 1, total;
    char class[GPU_CLASS_MAX];

    if (request->per_node == 0) {
        *text = '\0';
        return 0;
    }
    if (request->shared)
        units = request->memory / GPU_SHARE_UNIT + (request->memory % GPU_SHARE_UNIT != 0);
    if (__builtin_mul_overflow(units, (uint64_t)request->per_node * nodes, &total) ||
        total > INT32_MAX)
        return -ERANGE;
    gpu_request_class(request, nodes, class);
    snprintf(text, size, "%s:%llu%s%s%s", request->shared ? "rgpu_mem" : "rgpu",
             (unsigned long long)total, *class ? "," : "", class, *class ? ":1" : "");
    return 0;
}

// Entries are NAME[@SERVER][:COUNT], in newer versions also NAME=COUNT, and `|` between choices.
static bool entry_is_ours(const char *entry, size_t size)
{
    size_t name = 0;

    while (size && (*entry == ' ' || *entry == '(' || *entry == '"'))
        entry++, size--;
    while (name < size && !strchr(":=@*() ", entry[name]))
        name++;
    return name >= 4 && !strncasecmp(entry, "rgpu", 4) && (name == 4 || entry[4] == '_');
}

// Copies the entries that are ours, or those that are not.
static char *filter(const char *licenses, bool ours, const char *more)
{
    size_t room = (licenses ? strlen(licenses) : 0) + strlen(more) + 2;
    char *out = malloc(room), *at = out;

    if (!out)
        return NULL;
    while (licenses && *licenses) {
        size_t size = strcspn(licenses, ",;|");
        if (size && entry_is_ours(licenses, size) == ours) {
            if (at != out)
                *at++ = ',';
            memcpy(at, licenses, size);
            at += size;
        }
        licenses += size + (licenses[size] != '\0');
    }
    if (*more && at != out)
        *at++ = ',';
    strcpy(at, more);
    return out;
}

bool licenses_name_ours(const char *licenses)
{
    while (licenses && *licenses) {
        size_t size = strcspn(licenses, ",;|");
        if (entry_is_ours(licenses, size))
            return true;
        licenses += size + (licenses[size] != '\0');
    }
    return false;
}

char *licenses_replace(const char *licenses, const char *ours)
{
    // Choices ("a|b") of other licences keep their form.
    return licenses_name_ours(licenses) || *ours ? filter(licenses, false, ours)
                                                 : strdup(licenses ? licenses : "");
}

char *licenses_select_ours(const char *licenses)
{
    return filter(licenses, true, "");
}

bool licenses_same(const char *one, const char *other)
{
    if (strlen(one) != strlen(other))
        return false;
    while (*one) {
        size_t size = strcspn(one, ",");
        const char *at = other;
        while (*at && (strcspn(at, ",") != size || strncmp(at, one, size))) {
            at += strcspn(at, ",");
            at += *at != '\0';
        }
        if (!*at)
            return false;
        one += size;
        one += *one != '\0';
    }
    return true;
}
