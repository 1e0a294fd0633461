// SPDX-License-Identifier: BSD-3-Clause
// printf in kernels, with the formats that programs use.
#include <algorithm>
#include <string>
#include <unistd.h>

#include "runtime.h"

__global__ void talk(const char *unused, long long big, double d)
{
    printf("thread %d: %s, %5.2f, %lld, %x, %c, %e, 100%%\n", threadIdx.x, "words", d, big,
           0xBEEF, 'z', d * 1e10);
}

int main()
{
    CHECK(cudaFree(nullptr));
    fflush(stdout);
    char path[] = "/tmp/rgpu-print.XXXXXX";
    int saved = dup(1), file = mkstemp(path);
    if (file < 0)
        bail("no temporary file");
    unlink(path);
    dup2(file, 1);
    talk<<<1, 4>>>(nullptr, -5000000000ll, 2.345);
    CHECK(cudaDeviceSynchronize());
    fflush(stdout);
    dup2(saved, 1);
    std::string text(8192, '\0');
    ssize_t size = pread(file, &text[0], text.size(), 0);
    text.resize(size > 0 ? size : 0);
    for (int i = 0; i < 4; i++) {
        char want[200];
        snprintf(want, sizeof want, "thread %d: %s, %5.2f, %lld, %x, %c, %e, 100%%\n", i, "words",
                 2.345, -5000000000ll, 0xBEEF, 'z', 2.345e10);
        ok(text.find(want) != std::string::npos, "the line of thread %d", i);
    }
    is_int(std::count(text.begin(), text.end(), '\n'), 4, "and no other lines");
    return done();
}
