// SPDX-License-Identifier: BSD-3-Clause
// Finds arithmetic operations by name, in the table that matches this machine's CPU.
#include <pthread.h>
#include <string.h>

#include "sim/ptx/alu/alu.h"

#define BUCKETS 4096

static const struct alu_row *buckets[BUCKETS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static unsigned alu_table_hash(const char *key)
{
    uint32_t h = 2166136261u;

    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * 16777619u;
    return (h ^ h >> 13) % BUCKETS;
}

static const struct alu_row *best_rows(void)
{
#ifdef ALU_HAVE_V3
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c"))
        return alu_rows_v3;
#endif
    return alu_rows_base;
}

static void add_rows(const struct alu_row *row)
{
    for (; row->key; row++) {
        unsigned at = alu_table_hash(row->key);

        while (buckets[at])
            at = (at + 1) % BUCKETS;
        buckets[at] = row;
    }
}

static void build(void)
{
    add_rows(best_rows());
    add_rows(alu_rows_slow);
}

const struct alu_row *alu_find(const char *key)
{
    pthread_once(&once, build);
    for (unsigned at = alu_table_hash(key); buckets[at]; at = (at + 1) % BUCKETS)
        if (!strcmp(buckets[at]->key, key))
            return buckets[at];
    return NULL;
}
