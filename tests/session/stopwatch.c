// SPDX-License-Identifier: BSD-3-Clause
// The stopwatch returns the time of the clock, in each thread, and never goes back.
#include "client-lib/cuda/report/stopwatch.h"

#include <pthread.h>

#include "tests/tap.h"

// The allowed error of a comparison, generous because the thread may be preempted in the middle.
enum { OFF_NS = 200000, LOOKS = 400000, THREADS = 3 };

struct finding {
    bool back, off;
};

static void *look_often(void *argument)
{
    struct finding *finding = argument;
    uint64_t last = 0;

    for (int i = 0; i < LOOKS; i++) {
        uint64_t before = clock_ns(), now = stopwatch_ns(), after = clock_ns();

        finding->back |= now < last;
        finding->off |= now + OFF_NS < before || now > after + OFF_NS;
        last = now;
    }
    return NULL;
}

static void test_threads(const char *what)
{
    struct finding findings[THREADS] = {0};
    pthread_t threads[THREADS];
    bool back = false, off = false;

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, look_often, &findings[i]))
            bail("no thread");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        back |= findings[i].back;
        off |= findings[i].off;
    }
    ok(!back, "%s: it never goes back", what);
    ok(!off, "%s: it tells the time of the clock", what);
}

int main(void)
{
    test_threads(stopwatch_counts ? "by the counter" : "by the clock");
    stopwatch_counts = false;
    test_threads("by the clock");
    return done();
}
