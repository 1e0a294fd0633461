// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/report/summary.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { ROWS = 25 };

struct row {
    unsigned int op;
    uint64_t calls, failed, answers, ns, longest_ns;
};

static struct row summary_row_of(const struct thread_counts *threads, unsigned int op)
{
    struct row row = {.op = op};
    for (const struct thread_counts *at = threads; at; at = at->next) {
        const struct call_count *count = &at->calls[op];
        uint64_t longest = count_read(&count->longest_ns);
        row.calls += count_read(&count->calls);
        row.failed += count_read(&count->failed);
        row.answers += count_read(&count->answers);
        row.ns += count_read(&count->ns);
        row.longest_ns = longest > row.longest_ns ? longest : row.longest_ns;
    }
    return row;
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = ((const struct row *)a)->ns, y = ((const struct row *)b)->ns;
    return (x < y) - (x > y);
}

static void write_calls(FILE *out, const struct thread_counts *threads)
{
    static struct row rows[CUDA_OP_LIMIT];
    struct row others = {0};
    size_t count = 0;
    for (unsigned int op = 0; op < CUDA_OP_LIMIT; op++) {
        struct row row = summary_row_of(threads, op);
        if (row.calls)
            rows[count++] = row;
    }
    qsort(rows, count, sizeof(rows[0]), by_time);
    fprintf(out, SUMMARY_LINE "%-40s %10s %8s %8s %12s %10s %12s\n", "call", "number", "failed",
            "answers", "time ms", "mean us", "longest us");
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        if (i < ROWS) {
            fprintf(out, SUMMARY_LINE "%-40s %10llu %8llu %8llu %12.3f %10.2f %12.2f\n",
                    cuda_op_name(row->op), (unsigned long long)row->calls,
                    (unsigned long long)row->failed, (unsigned long long)row->answers,
                    (double)row->ns / 1e6, (double)row->ns / 1e3 / (double)row->calls,
                    (double)row->longest_ns / 1e3);
            continue;
        }
        others.calls += row->calls;
        others.failed += row->failed;
        others.answers += row->answers;
        others.ns += row->ns;
    }
    if (others.calls)
        fprintf(out, SUMMARY_LINE "%-40s %10llu %8llu %8llu %12.3f\n", "all others",
                (unsigned long long)others.calls, (unsigned long long)others.failed,
                (unsigned long long)others.answers, (double)others.ns / 1e6);
}

static void write_waits(FILE *out, const struct thread_counts *threads)
{
    for (int reason = 0; reason < WATCH_WAITS; reason++) {
        uint64_t waits = 0, ns = 0, shortest = UINT64_MAX;
        for (const struct thread_counts *at = threads; at; at = at->next) {
            uint64_t least = count_read(&at->waits[reason].shortest_ns);
            waits += count_read(&at->waits[reason].waits);
            ns += count_read(&at->waits[reason].ns);
            shortest = least && least < shortest ? least : shortest;
        }
        if (waits)
            fprintf(out, SUMMARY_LINE "waited %s: %.3f s, %llu times, the shortest %.1f us\n",
                    wait_name((enum watch_wait)reason), (double)ns / 1e9, (unsigned long long)waits,
                    (double)shortest / 1e3);
    }
}

static void write_bytes(FILE *out, const struct thread_counts *threads)
{
    static const char *const words[] = {[WATCH_TO_GPU] = "to", [WATCH_FROM_GPU] = "from"};
    for (int direction = 0; direction < 2; direction++) {
        uint64_t copies = 0, bytes = 0;
        for (const struct thread_counts *at = threads; at; at = at->next) {
            copies += count_read(&at->copied[direction].copies);
            bytes += count_read(&at->copied[direction].bytes);
        }
        if (copies)
            fprintf(out, SUMMARY_LINE "copied %s the GPU: %llu bytes in %llu copies\n",
                    words[direction], (unsigned long long)bytes, (unsigned long long)copies);
    }
}

void summary_write(FILE *out, const struct thread_counts *threads, uint64_t began)
{
    // Uses decimal points whatever the program's locale is, since scripts read this.
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    fprintf(out, "rgpu: summary of process %d (%s), which ran for %.3f s\n", (int)getpid(),
            program_invocation_short_name, (double)(clock_ns() - began) / 1e9);
    write_calls(out, threads);
    write_waits(out, threads);
    write_bytes(out, threads);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
}
