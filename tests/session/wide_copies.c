// SPDX-License-Identifier: BSD-3-Clause
// A CUDA program that copies a text to its first GPU and back until so many of its connections have
// carried data each way, or for a few rounds. usage: wide-copies TEXT CONNECTIONS [cut], where it
// cuts the last of them in the end
#include <arpa/inet.h>
#include <linux/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/programs/driver.h"

enum { SIZE = 16 << 20, ROUNDS_OF_ONE = 8, CARRIED = 1 << 20, DESCRIPTORS = 4096 };

static bool carries(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_bytes_acked > CARRIED && info.tcpi_bytes_received > CARRIED;
}

static int count_connections(int *last)
{
    int count = 0;

    for (int fd = 3; fd < DESCRIPTORS; fd++)
        if (carries(fd)) {
            *last = fd;
            count++;
        }
    return count;
}

static CUresult there_and_back(CUdeviceptr device, char *to, const char *from, unsigned round)
{
    size_t at = round % 64, size = SIZE - 97 * (round % 7);

    memset(to, 0, SIZE);
    CUresult result = cuMemcpyHtoD(device + at, from + at, size - at);
    if (result == CUDA_SUCCESS)
        result = cuMemcpyDtoH(to + at, device + at, size - at);
    if (result == CUDA_SUCCESS && memcmp(to + at, from + at, size - at)) {
        puts("failed: what came back is something else");
        exit(1);
    }
    return result;
}

int main(int argc, char **argv)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr device = device_alloc(SIZE);
    char *from = must_alloc(SIZE), *to = must_alloc(SIZE);
    int wanted = argc > 2 ? atoi(argv[2]) : 1, last = -1;

    for (size_t at = 0, length = strlen(argv[1]); at < SIZE; at++)
        from[at] = argv[1][at % length];
    for (unsigned round = 0; round < ROUNDS_OF_ONE || count_connections(&last) < wanted; round++)
        CHECK(there_and_back(device, to, from, round));
    printf("copied connections=%d\n", count_connections(&last));
    fflush(stdout);
    if (argc < 4) {
        close_gpu(&gpu);
        return 0;
    }
    shutdown(last, SHUT_RDWR);
    CUresult result = there_and_back(device, to, from, 0);
    printf("cut result=%d then=%d\n", result, there_and_back(device, to, from, 1));
    return 0;
}
