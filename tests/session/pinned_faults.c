// SPDX-License-Identifier: BSD-3-Clause
// Page-locked memory is there when the program has it: to write all of it meets next to no missing
// page. Skips where the kernel cannot make pages ahead, and where page-locked memory is ordinary
// memory.
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/programs/driver.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { SIZE = 32 << 20, PAGES = SIZE / 4096 };

static long faults(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage))
        bail("no figures of this process");
    return usage.ru_minflt + usage.ru_majflt;
}

static bool kernel_makes_pages(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && madvise(page, 4096, MADV_POPULATE_WRITE) == 0;
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    void *memory;
    if (!kernel_makes_pages())
        skip_all("the kernel does not make pages ahead");
    if (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY))
        skip_all("page-locked memory is ordinary memory here");
    CHECK(cuMemHostAlloc(&memory, SIZE, 0));
    long before = faults();
    memset(memory, 1, SIZE);
    long met = faults() - before;
    ok(met < PAGES / 16, "its pages are there");
    diag("%ld of %d pages were missing", met, PAGES);
    CHECK(cuMemFreeHost(memory));
    close_gpu(&gpu);
    return done();
}
