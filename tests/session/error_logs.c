// SPDX-License-Identifier: BSD-3-Clause
// Tests a program's error log: the program is notified of each failed call, and reads the log
// afterwards, in memory or in a file.
#include <errno.h>
#include <unistd.h>

#include "tests/programs/driver.h"

CUresult cuLogsRegisterCallback(CUlogsCallback, void *, CUlogsCallbackHandle *);
CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle);
CUresult cuLogsCurrent(CUlogIterator *, unsigned);
CUresult cuLogsDumpToFile(CUlogIterator *, const char *, unsigned);
CUresult cuLogsDumpToMemory(CUlogIterator *, char *, size_t *, unsigned);

struct heard_error {
    unsigned times;
    size_t length;
    char last[200];
    bool fails;
};

static void hear(void *data, CUlogLevel level, char *message, size_t length)
{
    struct heard_error *heard = data;
    heard->times++;
    heard->length = length;
    snprintf(heard->last, sizeof(heard->last), "%d %s", level, message);
    if (heard->fails)
        cuMemFree(1);
}

static unsigned lines(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void listening(void)
{
    struct heard_error heard = {0}, other = {.fails = true};
    CUlogsCallbackHandle first, second;
    CUdeviceptr address;
    CHECK(cuLogsRegisterCallback(hear, &heard, &first));
    CHECK(cuLogsRegisterCallback(hear, &other, &second));
    cuMemAlloc(NULL, 5);
    is_str(heard.last, "0 Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemAlloc_v2",
           "a failure is told in words");
    ok(heard.length == strlen(heard.last) - 2, "with their length");
    CHECK(cuMemAlloc(&address, 64));
    CHECK(cuMemFree(address));
    ok(heard.times == 1 && other.times == 1,
       "success is not, nor what fails in the function that is told");
    CHECK(cuLogsUnregisterCallback(first));
    cuMemFree(1);
    ok(heard.times == 1 && other.times == 2, "who listens no more is not told");
    CHECK(cuLogsUnregisterCallback(second));
    gives(cuLogsUnregisterCallback(second), CUDA_ERROR_INVALID_VALUE, "nor stops twice");
}

static void in_memory(void)
{
    static char text[64 * 1024];
    CUlogIterator start, at;
    size_t size = sizeof(text);
    CHECK(cuLogsCurrent(&start, 0));
    at = start;
    CHECK(cuLogsDumpToMemory(&at, text, &size, 0));
    is_int(size, 0, "nothing has failed since now");
    for (int i = 0; i < 3; i++)
        cuMemAlloc(NULL, 5);
    size = sizeof(text);
    CHECK(cuLogsDumpToMemory(&at, text, &size, 0));
    ok(size == strlen(text) && lines(text) == 3 && strstr(text, "[CUDA][E] Returning 1 (") &&
           at == start + 3,
       "what has failed is read from where one was");
    at = start;
    size = 200;
    memset(text, '#', 300);
    CHECK(cuLogsDumpToMemory(&at, text, &size, 0));
    ok(size < 200 && lines(text) == 2 && strstr(text, "not large enough") &&
           strstr(text, "cuMemAlloc_v2\n") && text[200] == '#',
       "where not all fits it is the latest, and says so");
    size = 20;
    gives(cuLogsDumpToMemory(NULL, text, &size, 0), CUDA_ERROR_INVALID_VALUE,
          "no message fits into 20 bytes");
    is_int(size, 0, "which says that there are none");
    for (int i = 0; i < 300; i++)
        cuMemFree(1);
    size = sizeof(text);
    CHECK(cuLogsDumpToMemory(NULL, text, &size, 0));
    ok(lines(text) > 50 && lines(text) < 200, "old messages make room");
    at = start + 10000;
    size = sizeof(text);
    gives(cuLogsDumpToMemory(&at, text, &size, 0), CUDA_ERROR_INVALID_VALUE,
          "there is nothing of times to come");
    size = sizeof(text);
    gives(cuLogsDumpToMemory(NULL, NULL, &size, 0), CUDA_ERROR_INVALID_VALUE, "nor without memory");
}

static void in_a_file(void)
{
    static char text[64 * 1024];
    char path[] = "/tmp/rgpu-logs-XXXXXX";
    int fd = mkstemp(path);
    CUlogIterator at;
    CHECK(cuLogsCurrent(&at, 0));
    cuMemFree(1);
    CHECK(cuLogsDumpToFile(&at, path, 0));
    ok(read(fd, text, sizeof(text) - 1) > 0 && lines(text) == 1 && strstr(text, "cuMemFree_v2"),
       "a file gets the same");
    gives(cuLogsDumpToFile(NULL, "/nonexistent/file", 0), CUDA_ERROR_INVALID_VALUE,
          "one that cannot be is an error");
    close(fd);
    unlink(path);
}

int main(void)
{
    CUlogIterator before;
    gives(cuMemFree(1), CUDA_ERROR_NOT_INITIALIZED, "a call before cuInit");
    CHECK(cuLogsCurrent(&before, 0));
    is_int(before, 1, "is in the log already");
    struct gpu gpu = open_gpu(0);
    listening();
    in_memory();
    in_a_file();
    close_gpu(&gpu);
    return done();
}
