// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/exhaustive.h"

#include <errno.h>
#include <jansson.h>
#include <search.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "common/net/json_memory.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/simulated_box.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/virtual_disk.h"

enum trial_fault {
    TRIAL_MEMORY,
    TRIAL_WRITE,
    TRIAL_READ,
    TRIAL_SYNC,
    TRIAL_FULL,
    TRIAL_CRASH,
    TRIAL_POINT,
    TRIAL_ANSWER,
    TRIAL_FILE,
    TRIAL_COUNT
};
static const char *const trial_names[] = {
    "allocation", "write", "read",   "sync", "write on a full disk",
    "crash",      "point", "answer", "file"};
enum { KINDS_MAX = 512, NOT_REACHED = 77, BROKEN_MAX = 3 };

static struct kind {
    char name[200];
    unsigned seen;
} kinds[KINDS_MAX];
static unsigned kind_count, spacing, step, trials, broken;

// The fault of this world.
static struct {
    bool is_trial, delivered, open;
    enum trial_fault fault;
    struct host *host;
    unsigned in, held, disk_faults;
    int64_t end;
} trial;

// ---- operations that fail ----

static bool comes(enum trial_fault fault)
{
    if (!trial.open || trial.delivered || trial.held || trial.fault != fault || --trial.in)
        return false;
    trial.delivered = true;
    world_trace("this %s fails", trial_names[fault]);
    oracle_doubt();
    return true;
}

bool exhaustive_memory_fails(void)
{
    return trial.open && world_host == trial.host && comes(TRIAL_MEMORY);
}

bool exhaustive_fault_point_fails(void)
{
    return world_host == trial.host && comes(TRIAL_POINT);
}

bool exhaustive_answer_fails(void)
{
    return comes(TRIAL_ANSWER);
}

bool exhaustive_file_fails(void)
{
    return comes(TRIAL_FILE);
}

void exhaustive_hold(bool hold)
{
    trial.held += hold ? 1u : -1u;
}

// ---- memory: the linker sends the product's calls here (module.mk) ----

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
void *__real_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
FILE *__wrap_open_memstream(char **text, size_t *size);
FILE *__real_open_memstream(char **text, size_t *size);
__attribute__((noreturn)) void __wrap_abort(void);

void *__wrap_malloc(size_t size)
{
    return exhaustive_memory_fails() ? NULL : malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return exhaustive_memory_fails() ? NULL : calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return exhaustive_memory_fails() ? NULL : realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return exhaustive_memory_fails() ? NULL : strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return exhaustive_memory_fails() ? NULL : strndup(text, size);
}

void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *))
{
    if (!tfind(key, root, compare) && exhaustive_memory_fails())
        return NULL;
    return __real_tsearch(key, root, compare);
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
    return exhaustive_memory_fails() ? NULL : __real_open_memstream(text, size);
}

// The product ends by design where it cannot go on without memory, and starts again.
void __wrap_abort(void)
{
    if (trial.delivered && trial.fault == TRIAL_MEMORY && world_host == &broker_host)
        broker_process_die("abort() without memory");
    if (trial.delivered && trial.fault == TRIAL_MEMORY)
        box_process_die();
    abort();
}

static sqlite3_mem_methods sqlite_memory;

static void *sqlite_malloc(int size)
{
    return exhaustive_memory_fails() ? NULL : sqlite_memory.xMalloc(size);
}

static void *sqlite_realloc(void *old, int size)
{
    return exhaustive_memory_fails() ? NULL : sqlite_memory.xRealloc(old, size);
}

// ---- kinds of messages ----

static bool is_empty(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) ||
           (json_is_string(value) && !*json_string_value(value)) ||
           (json_is_integer(value) && !json_integer_value(value)) ||
           ((json_is_array(value) || json_is_object(value)) && !json_array_size(value) &&
            !json_object_size(value));
}

// The names of boxes, GPUs and leases are not a part of the kind.
static void name_kind(char *name, size_t size, const char *method, const char *target,
                      const json_t *body)
{
    size_t length = (size_t)snprintf(name, size, "%s ", method);
    unsigned segment = 0;
    const char *member;
    json_t *value;

    for (const char *c = target; *c && *c != '=' && length + 2 < size; c++) {
        bool names = segment == 3 && *c != '/' && *c != '?' &&
                     strncmp(target, "/v1/leases/release", 18);
        segment += *c == '/';
        if (!names)
            name[length++] = *c;
        else if (c[-1] == '/')
            name[length++] = '*';
    }
    name[length] = '\0';
    json_object_foreach((json_t *)body, member, value)
        if (!is_empty(value) && length < size)
            length += (size_t)snprintf(name + length, size - length, " %s", member);
}

// Returns NULL if the kind is not to be tried now.
static struct kind *kind_due(const char *name)
{
    struct kind *kind = kinds;
    unsigned count;

    while (kind < kinds + kind_count && strcmp(kind->name, name))
        kind++;
    if (kind == kinds + KINDS_MAX)
        return NULL;
    if (kind == kinds + kind_count) {
        kind_count++;
        snprintf(kind->name, sizeof(kind->name), "%s", name);
    }
    for (count = ++kind->seen; count > 1 && count % spacing == 0; count /= spacing)
        ;
    return count == 1 ? kind : NULL;
}

// ---- trials ----

static void on_window_over(void *unused)
{
    (void)unused;
    trial.delivered |= disk_faults_delivered != trial.disk_faults;
    trial.open = false;
    if (!trial.delivered)
        _exit(NOT_REACHED);
    disk_clear_faults();
}

static void arm(struct host *host, enum trial_fault fault, unsigned in)
{
    static const enum disk_fault of_disk[] = {[TRIAL_WRITE] = DISK_WRITE_FAILS,
                                              [TRIAL_READ] = DISK_READ_FAILS,
                                              [TRIAL_SYNC] = DISK_SYNC_FAILS,
                                              [TRIAL_FULL] = DISK_FULL,
                                              [TRIAL_CRASH] = DISK_CRASH};

    disk_clear_faults();
    broker_process_plan_failure(0, 0);
    broker_process_plan_death(0);
    if (fault >= TRIAL_WRITE && fault <= TRIAL_CRASH)
        disk_plan_fault(of_disk[fault], in);
    trial.host = host;
    trial.fault = fault;
    trial.in = in;
    trial.is_trial = trial.open = true;
    trial.disk_faults = disk_faults_delivered;
    trial.end = world_now + 20 * SECOND;
    world_after(NULL, 300 * MS, on_window_over, NULL);
}

// Forks a world. Returns 0 in it, and in this one the status with which it has ended.
static int fork_trial(struct host *host, const struct kind *kind, enum trial_fault fault,
                      unsigned in)
{
    pid_t child;
    int status;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(world_circumstance, sizeof(world_circumstance), "%s, occurrence %u, %s %u fails",
                 kind->name, kind->seen, trial_names[fault], in);
        arm(host, fault, in);
        return 0;
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        abort();
    if (WIFSIGNALED(status))
        printf("BROKEN seed=%llu: signal %d, %s, occurrence %u, %s %u fails\n",
               (unsigned long long)world_seed, WTERMSIG(status), kind->name, kind->seen,
               trial_names[fault], in);
    trials++;
    broken += status && !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_REACHED);
    return status;
}

void exhaustive_point(struct host *host, const char *method, const char *target, const char *text)
{
    bool is_box = host != &broker_host;
    struct kind *kind;
    char name[200];
    json_t *body;

    if (!spacing || trial.is_trial)
        return;
    body = text ? json_loads(text, 0, NULL) : NULL;
    name_kind(name, sizeof(name), method, target, body);
    json_decref(body);
    kind = kind_due(name);
    for (int fault = 0; kind && fault < TRIAL_COUNT; fault++) {
        unsigned before = broken;
        int status = 1;
        if (is_box != (fault == TRIAL_FILE) && fault != TRIAL_MEMORY && fault != TRIAL_POINT)
            continue;
        for (unsigned in = 1; broken - before < BROKEN_MAX &&
                              (!WIFEXITED(status) || WEXITSTATUS(status) != NOT_REACHED);
             in += 1 + in * (step - 1) / 100) {
            status = fork_trial(host, kind, (enum trial_fault)fault, in);
            if (trial.is_trial)
                return;
        }
    }
}

int64_t exhaustive_end(int64_t end)
{
    return trial.is_trial ? trial.end : end;
}

void exhaustive_finish(void)
{
    spacing = 0;
}

bool exhaustive_is_trial(void)
{
    return trial.is_trial;
}

void exhaustive_begin(unsigned spaced, unsigned stepped)
{
    sqlite3_mem_methods methods;

    spacing = spaced > 1 ? spaced : 2;
    step = stepped ? stepped : 1;
    json_memory_set_up();
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory) != SQLITE_OK)
        abort();
    methods = sqlite_memory;
    methods.xMalloc = sqlite_malloc;
    methods.xRealloc = sqlite_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
        abort();
}

bool exhaustive_report(void)
{
    printf("exhaustive: kinds=%u trials=%u broken=%u\n", kind_count, trials, broken);
    return !broken;
}
