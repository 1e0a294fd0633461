// SPDX-License-Identifier: BSD-3-Clause
// Does what lines of its standard input say with memory that processes share, and answers each with one line.
// share BYTES, free, open TOKEN, close, take BYTES, left
#include "tests/programs/driver.h"

static CUdeviceptr mine, theirs;

static void share(size_t bytes)
{
    CUipcMemHandle token;
    CUresult result = cuMemAlloc(&mine, bytes);
    if (!result)
        result = cuMemsetD32(mine, 4711, bytes / 4);
    if (!result)
        result = cuIpcGetMemHandle(&token, mine);
    if (result) {
        printf("failed %d\n", result);
        return;
    }
    printf("token ");
    for (size_t i = 0; i < sizeof(token); i++)
        printf("%02x", (unsigned char)token.reserved[i]);
    printf("\n");
}

static void open_token(const char *text)
{
    CUipcMemHandle token = {{0}};
    unsigned byte;
    uint32_t word = 0;
    for (size_t i = 0; i < sizeof(token) && sscanf(text + 2 * i, "%2x", &byte) == 1; i++)
        token.reserved[i] = (char)byte;
    CUresult result = cuIpcOpenMemHandle(&theirs, token, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (!result)
        result = cuMemcpyDtoH(&word, theirs, 4);
    printf(result ? "failed %d\n" : "opened %d\n", result ? (int)result : (int)word);
}

static void left(void)
{
    size_t free_bytes = 0, total = 0;
    CUresult result = cuMemGetInfo(&free_bytes, &total);
    printf("left %zu\n", result ? 0 : free_bytes >> 20);
}

int main(void)
{
    char line[256], word[160];
    unsigned long long number;
    CUdeviceptr more;
    struct gpu gpu = open_gpu(0);
    printf("ready\n");
    while (fflush(stdout) == 0 && fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "share %llu", &number) == 1)
            share(number);
        else if (sscanf(line, "open %159s", word) == 1)
            open_token(word);
        else if (sscanf(line, "take %llu", &number) == 1)
            printf("taken %d\n", cuMemAlloc(&more, number));
        else if (!strcmp(line, "free\n"))
            printf("freed %d\n", cuMemFree(mine));
        else if (!strcmp(line, "close\n"))
            printf("closed %d\n", cuIpcCloseMemHandle(theirs));
        else
            left();
    }
    close_gpu(&gpu);
    return 0;
}
