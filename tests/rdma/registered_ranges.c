// SPDX-License-Identifier: BSD-3-Clause
// The table of registered ranges: each range is registered once, however often it is named, for as
// long as it or a part of it is in use. Lookups take as long with many ranges as with few. The
// limits hold.
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "tests/tap.h"
#include "transport/rdma/rdma_regions.h"

enum { PAGE = 4096, MANY = 4000, TURNS = 20000, RANGES = 64 };

// Stands for a registration; only its address counts.
static struct ibv_mr *registration(size_t number)
{
    static char many[MANY + 64];

    return (struct ibv_mr *)&many[number];
}

static struct ibv_mr *hold(struct rdma_regions *regions, uintptr_t start, uintptr_t end)
{
    int error;
    struct ibv_mr *mr = rdma_regions_hold(regions, start * PAGE, end * PAGE, &error);

    return error ? NULL : mr;
}

static bool add(struct rdma_regions *regions, uintptr_t start, uintptr_t end, size_t number)
{
    return rdma_regions_add(regions, start * PAGE, end * PAGE, registration(number)) == 0;
}

static struct ibv_mr *release(struct rdma_regions *regions, uintptr_t start, uintptr_t end)
{
    return rdma_regions_release(regions, start * PAGE, end * PAGE);
}

static struct ibv_mr *find(const struct rdma_regions *regions, uintptr_t start, uintptr_t end)
{
    return rdma_regions_find(regions, start * PAGE, end * PAGE);
}

static void check_counting(void)
{
    struct rdma_regions regions = {0};

    ok(!hold(&regions, 10, 20), "an unknown range is not there");
    ok(add(&regions, 10, 20, 1) && hold(&regions, 10, 20) == registration(1),
       "a range that is named again is not registered again");
    ok(hold(&regions, 12, 14) == registration(1), "nor is a part of it");
    ok(!hold(&regions, 19, 21) && !hold(&regions, 9, 11), "what juts out is not covered");
    ok(!release(&regions, 10, 20) && !release(&regions, 10, 20),
       "the registration outlives the range for the sake of the part");
    ok(!release(&regions, 10, 20), "a range is given up as often as it was named and no more");
    ok(find(&regions, 12, 13) == registration(1), "it still covers the part");
    ok(release(&regions, 12, 14) == registration(1), "and ends with it");
    ok(!find(&regions, 12, 13) && !regions.registrations && !regions.bytes, "nothing is left");
    ok(!release(&regions, 12, 14), "what nobody named cannot be given up");
    ok(!rdma_regions_take_any(&regions), "the table is empty");
}

// A part that was registered first keeps its own; which of the two a later part uses must be the
// one that it gives up.
static void check_overlaps(void)
{
    struct rdma_regions regions = {0};

    add(&regions, 50, 60, 1);
    add(&regions, 0, 100, 2);
    add(&regions, 55, 120, 3);
    add(&regions, 200, 201, 4);
    struct ibv_mr *inner = hold(&regions, 55, 57);
    ok(inner, "a range inside three has the registration of one");
    ok(release(&regions, 200, 201) == registration(4), "a neighbour goes");
    struct ibv_mr *freed[] = {release(&regions, 0, 100), release(&regions, 50, 60),
                              release(&regions, 55, 120)};
    int kept = 0;
    for (int i = 0; i < 3; i++)
        kept += !freed[i];
    ok(kept == 1 && freed[0] != inner && freed[1] != inner && freed[2] != inner,
       "of the three only the used one stays");
    ok(find(&regions, 55, 57) == inner, "and serves");
    ok(release(&regions, 55, 57) == inner, "until its user goes");
    ok(!regions.count, "nothing is left");
    ok(!rdma_regions_take_any(&regions), "the table is empty");
}

static void check_limits(void)
{
    struct rdma_regions regions = {.registrations_max = 2, .bytes_max = 100 * PAGE};

    is_int(rdma_regions_allow(&regions, 101 * PAGE), -ENOSPC, "too many bytes at once");
    is_int(rdma_regions_allow(&regions, 100 * PAGE), 0, "as many as are allowed");
    add(&regions, 0, 60, 1);
    is_int(rdma_regions_allow(&regions, 41 * PAGE), -ENOSPC, "too many together");
    add(&regions, 100, 101, 2);
    is_int(rdma_regions_allow(&regions, PAGE), -ENOSPC, "too many registrations");
    ok(hold(&regions, 3, 4) == registration(1), "parts need none");
    ok(release(&regions, 100, 101) == registration(2), "one goes");
    is_int(rdma_regions_allow(&regions, 40 * PAGE), 0, "and there is room again");
    ok(rdma_regions_take_any(&regions) == registration(1) && !rdma_regions_take_any(&regions),
       "what is left at the end is handed out once");
}

// Against a list that is searched from end to end.
static void check_at_random(void)
{
    struct {
        uintptr_t start, end;
        unsigned uses;
    } known[RANGES];
    struct rdma_regions regions = {0};
    size_t registered = 0, deregistered = 0;
    bool right = true;

    srand(7);
    for (int i = 0; i < RANGES; i++) {
        known[i].start = (uintptr_t)rand() % 100;
        known[i].end = known[i].start + 1 + (uintptr_t)rand() % 40;
        known[i].uses = 0;
        for (int j = 0; j < i; j++) // each range once
            if (known[j].start == known[i].start && known[j].end == known[i].end) {
                i--;
                break;
            }
    }
    for (int turn = 0; turn < TURNS && right; turn++) {
        int i = rand() % RANGES;
        if (rand() % 2) {
            struct ibv_mr *mr = hold(&regions, known[i].start, known[i].end);
            if (!mr)
                right &= add(&regions, known[i].start, known[i].end, registered++ % MANY);
            known[i].uses++;
        } else if (known[i].uses) {
            known[i].uses--;
            deregistered += release(&regions, known[i].start, known[i].end) != NULL;
        }
        for (int j = 0; j < RANGES; j++)
            right &= !known[j].uses || find(&regions, known[j].start, known[j].end);
        right &= registered - deregistered == regions.registrations;
    }
    ok(right, "at random: what is named is covered, and every registration is counted");
    for (int i = 0; i < RANGES; i++)
        for (; known[i].uses; known[i].uses--)
            deregistered += release(&regions, known[i].start, known[i].end) != NULL;
    ok(!regions.count && registered == deregistered, "and all come to their end");
    rdma_regions_take_any(&regions);
}

static double lookups(struct rdma_regions *regions, size_t count)
{
    struct timespec from, to;
    bool all = true;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (int i = 0; i < TURNS * 5; i++) {
        size_t number = (size_t)i * 7919 % count;
        all &= find(regions, number * 4 + 1, number * 4 + 2) == registration(number);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    ok(all, "among %zu ranges each is found", count);
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

static void check_many(void)
{
    struct rdma_regions regions = {0};
    bool all = true;

    for (size_t i = 0; i < MANY / 100; i++)
        all &= add(&regions, i * 4, i * 4 + 3, i);
    double few = lookups(&regions, MANY / 100);
    for (size_t i = MANY / 100; i < MANY; i++)
        all &= add(&regions, i * 4, i * 4 + 3, i);
    double many = lookups(&regions, MANY);
    diag("%d lookups: %.1f ms among %d, %.1f ms among %d", TURNS * 5, few * 1e3, MANY / 100,
         many * 1e3, MANY);
    ok(all && regions.registrations == MANY, "%d are there", MANY);
    for (size_t i = 0; i < MANY; i++)
        all &= release(&regions, i * 4, i * 4 + 3) == registration(i);
    ok(all && !regions.count, "and go");
    rdma_regions_take_any(&regions);
    add(&regions, 0, 4 * MANY, 0);
    for (size_t i = 0; i < MANY; i++)
        all &= hold(&regions, i * 4, i * 4 + 3) == registration(0);
    ok(all && regions.registrations == 1, "as many parts of one range share its registration");
    for (size_t i = 0; i < MANY; i++)
        all &= !release(&regions, i * 4, i * 4 + 3);
    ok(all && release(&regions, 0, 4 * MANY) == registration(0), "which goes with it");
    rdma_regions_take_any(&regions);
}

int main(void)
{
    check_counting();
    check_overlaps();
    check_limits();
    check_at_random();
    check_many();
    return done();
}
