// SPDX-License-Identifier: BSD-3-Clause
// rgpuctl test: tests GPUs of the pool, drained or not, under a lease as any program has one. A GPU
// that its box has drained for a fault is put back into service if it passes. One that fails is
// drained.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "admin-cli/burn_in.h"
#include "admin-cli/output/conversation.h"
#include "admin-cli/ping.h"
#include "common/base/units.h"

static int test_here(const char *memory, const char *library)
{
    uint64_t bytes = 0;

    if (memory && (units_parse_size(memory, &bytes) || !bytes)) {
        fprintf(stderr, "rgpuctl test: --mem %s is not a size such as 10G\n", memory);
        return EXIT_USAGE;
    }
    return burn_in(library, bytes) ? EXIT_TEST_FAILED : 0;
}

// The words of a command line, and the memory for those that are made here.
struct words {
    char *list[32];
    int count;
    char self[PATH_MAX], constraint[300], number[16], share[32];
};

static void add_option(struct words *words, const char *name, const char *value)
{
    if (!value)
        return;
    words->list[words->count++] = (char *)name;
    words->list[words->count++] = (char *)value;
}

// Returns the largest share that the GPU can give, in bytes; 0: the GPU is given whole.
static json_int_t share_of(const json_t *gpu)
{
    const char *mode = json_string_value(json_object_get(gpu, "mode"));

    if (!mode || strcmp(mode, "shared") || json_is_true(json_object_get(gpu, "auto")))
        return 0;
    return json_integer_value(json_object_get(gpu, "free")) -
           json_integer_value(json_object_get(gpu, "context"));
}

// Runs `rgpuctl run -- rgpuctl test` with a lease of these GPUs, which are all of one box.
static int test_with_lease(const struct conversation *pool, const json_t *gpus)
{
    const json_t *first = json_array_get(gpus, 0);
    size_t count = json_array_size(gpus);
    const char *box = json_string_value(json_object_get(first, "box"));
    json_int_t share = count == 1 ? share_of(first) : 0;
    struct words words = {.list = {"run"}, .count = 1};
    ssize_t length = readlink("/proc/self/exe", words.self, sizeof(words.self) - 1);
    int used = snprintf(words.constraint, sizeof(words.constraint), "drained,same-box,box=%.200s",
                        box ? box : "");

    if (length < 0)
        return EXIT_UNREACHABLE;
    if (count == 1)
        snprintf(words.constraint + used, sizeof(words.constraint) - (size_t)used, ",index=%lld",
                 (long long)json_integer_value(json_object_get(first, "index")));
    snprintf(words.number, sizeof(words.number), "%zu", count);
    snprintf(words.share, sizeof(words.share), "%lld", (long long)share);
    add_option(&words, "--timeout", "5s"); // the last lease may still be ending
    add_option(&words, "--constraint", words.constraint);
    add_option(&words, "--gpus", words.number);
    add_option(&words, "--mem", share > 0 ? words.share : NULL);
    add_option(&words, "--broker", pool_option(pool, "broker"));
    add_option(&words, "--key", pool_option(pool, "key"));
    add_option(&words, "--", words.self);
    words.list[words.count++] = "test";
    add_option(&words, "--mem", pool_option(pool, "mem"));
    return run_commands[0].run(&run_commands[0], words.count, words.list);
}

// Returns true if the GPU is drained by the word of its box, and not of an administrator.
static bool is_drained_by_box(const json_t *gpu)
{
    const char *by = json_string_value(json_object_get(json_object_get(gpu, "drain"), "by"));

    return json_is_true(json_object_get(gpu, "drained")) && by && !strncmp(by, "box ", 4);
}

// Drains a GPU that failed, or puts it back into service.
static int conclude(struct conversation *pool, const json_t *gpu, bool passed)
{
    const char *uuid = json_string_value(json_object_get(gpu, "uuid"));
    bool faulty = is_drained_by_box(gpu), drained = json_is_true(json_object_get(gpu, "drained"));
    json_t *order = passed || (drained && !faulty)
                        ? json_object()
                        : json_pack("{s:s}", "reason", "failed rgpuctl test");
    char path[256];
    int status = 0;

    snprintf(path, sizeof(path), "/v1/gpus/%.150s/%s", uuid, passed ? "undrain" : "drain");
    if (!passed || faulty)
        status = pool_call(pool, "POST", path, order, NULL);
    if (!status)
        printf("%s:%lld %s%s\n", json_string_value(json_object_get(gpu, "box")),
               (long long)json_integer_value(json_object_get(gpu, "index")),
               passed ? "passed" : "failed",
               !passed   ? " and is drained"
               : faulty  ? " and is back in service"
               : drained ? " and stays drained, as an administrator said"
                         : "");
    json_decref(order);
    return status;
}

static int test_target(struct conversation *pool)
{
    json_t *answer = NULL, *gpus, *gpu;
    char path[256];
    bool is_gpu;
    size_t i;
    int status = pool_find_target(pool, pool->line.argv[0], path, sizeof(path), &is_gpu);

    if (!status)
        status = pool_call(pool, "GET", path, NULL, &answer);
    if (status)
        return status;
    gpus = is_gpu ? json_pack("[O]", json_object_get(answer, "gpu"))
                  : json_incref(json_object_get(answer, "gpus"));
    status = json_array_size(gpus) ? test_with_lease(pool, gpus) : EXIT_ANSWER_NO;
    if (!status || status == EXIT_TEST_FAILED)
        json_array_foreach(gpus, i, gpu) {
            int other = conclude(pool, gpu, !status);
            status = status ? status : other;
        }
    json_decref(gpus);
    json_decref(answer);
    return status;
}

static int run_test(const struct command *command, int argc, char **argv)
{
    struct conversation pool = {.command = command};
    char library[PATH_MAX];
    int status = command_parse(command, argc, argv, &pool.line);

    if (status >= 0)
        return status;
    if (ping_library(library, sizeof(library))) {
        fprintf(stderr,
                "rgpuctl test: the client library is not installed (no %s): install rgpu-client\n",
                library);
        return EXIT_UNREACHABLE;
    }
    if (!pool.line.argc)
        return test_here(command_value(command, &pool.line, "mem"), library);
    status = pool_open(&pool, command, argc, argv, 1, 1);
    if (status >= 0)
        return status;
    status = test_target(&pool);
    pool_close(&pool);
    return status;
}

static const struct command_option test_options[] = {
    POOL_OPTIONS,
    {"mem", "SIZE", "memory of each GPU to test [nearly all that is free]", 0},
    {0},
};

const struct command test_commands[] = {
    {"test", "[BOX|GPU]", "Tests GPUs of the pool that no lease holds, also drained ones.",
     test_options, run_test},
    {0},
};
