// SPDX-License-Identifier: BSD-3-Clause
// printf of kernels arrives on the program's own standard output, whole and once.
#include <fcntl.h>
#include <unistd.h>

#include "tests/programs/driver.h"
#include "tests/programs/printing.h"

static int occurrences(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUmodule printing;
    CUfunction hello;
    static char text[65536];
    int number = 41, saved, file;
    char path[] = "/tmp/rgpu-print.XXXXXX";

    CHECK(cuModuleLoadData(&printing, printing_ptx));
    CHECK(cuModuleGetFunction(&hello, printing, "hello"));
    fflush(stdout);
    saved = dup(1);
    file = mkstemp(path);
    if (file < 0 || saved < 0)
        bail("no temporary file");
    unlink(path);
    dup2(file, 1);
    launch(hello, 2, 3, NULL, &number);
    CHECK(cuCtxSynchronize());
    number = -7;
    launch(hello, 1, 1, NULL, &number);
    CHECK(cuCtxSynchronize());
    fflush(stdout);
    dup2(saved, 1);

    ssize_t length = pread(file, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    is_int(occurrences(text, "hello "), 7, "one line from each thread");
    is_int(occurrences(text, "hello 41 from block 1 thread 2: text 20.50\n"), 1,
           "with its numbers and texts formatted");
    is_int(occurrences(text, "hello -7 from block 0 thread 0: text -3.50\n"), 1,
           "negative ones too");
    close(file);
    CHECK(cuModuleUnload(printing));
    close_gpu(&gpu);
    return done();
}
