// SPDX-License-Identifier: BSD-3-Clause
// Does what lines of its standard input say with memory that processes share, and answers each with
// one line. share BYTES, free, open TOKEN, close, take BYTES, left; physical BYTES, import TOKEN;
// pool BYTES, adopt TOKEN TOKEN
#include <sys/mman.h>
#include <unistd.h>

#include "tests/programs/driver.h"

static CUdeviceptr mine, theirs;

static void share(size_t bytes)
{
    CUipcMemHandle token;
    CUresult result = cuMemAlloc(&mine, bytes);
    if (!result)
        result = cuMemsetD32(mine, 4711, bytes / 4);
    if (!result)
        result = cuCtxSynchronize(); // another process reads it
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

// ---- physical memory and pools, whose tokens travel in files ----

static void print_file(const char *word, int fd)
{
    unsigned char token[64];
    if (pread(fd, token, sizeof(token), 0) != sizeof(token))
        bail("a token is not in its file");
    printf("%s ", word);
    for (size_t i = 0; i < sizeof(token); i++)
        printf("%02x", token[i]);
    close(fd);
}

static size_t read_token(const char *text, void *token)
{
    unsigned char *bytes = token;
    size_t i = 0;
    unsigned byte;
    for (; i < 64 && sscanf(text + 2 * i, "%2x", &byte) == 1; i++)
        bytes[i] = (unsigned char)byte;
    return i;
}

static int token_file(const char *text)
{
    unsigned char token[64] = {0};
    int fd = memfd_create("token", MFD_CLOEXEC);
    read_token(text, token);
    if (fd < 0 || write(fd, token, sizeof(token)) != sizeof(token))
        bail("no file");
    return fd;
}

static CUdeviceptr map_physical(CUmemGenericAllocationHandle memory, size_t size)
{
    CUmemAccessDesc open = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr address;
    CHECK(cuMemAddressReserve(&address, size, 0, 0, 0));
    CHECK(cuMemMap(address, size, 0, memory, 0));
    CHECK(cuMemSetAccess(address, size, &open, 1));
    return address;
}

static void make_physical(size_t bytes)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle memory;
    int fd = -1;
    CHECK(cuMemCreate(&memory, bytes, &prop, 0));
    CHECK(cuMemsetD32(map_physical(memory, bytes), 4712, bytes / 4));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    print_file("token", fd);
    printf("\n");
}

static void import_physical(const char *text, size_t bytes)
{
    CUmemGenericAllocationHandle memory;
    uint32_t word = 0;
    int fd = token_file(text);
    CUresult result = cuMemImportFromShareableHandle(&memory, (void *)(intptr_t)fd,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(fd);
    if (!result)
        result = cuMemcpyDtoH(&word, map_physical(memory, bytes), 4);
    printf(result ? "failed %d\n" : "opened %d\n", result ? (int)result : (int)word);
}

static void make_pool(size_t bytes)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    CUdeviceptr address;
    int fd = -1;
    CHECK(cuMemPoolCreate(&pool, &props));
    CHECK(cuMemAllocFromPoolAsync(&address, bytes, pool, NULL));
    CHECK(cuMemsetD32(address, 4713, bytes / 4));
    CHECK(cuStreamSynchronize(NULL));
    CHECK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(cuMemPoolExportPointer(&data, address));
    print_file("tokens", fd);
    printf(" ");
    for (size_t i = 0; i < sizeof(data); i++)
        printf("%02x", (unsigned char)data.reserved[i]);
    printf("\n");
}

static void adopt_pool(const char *pool_text, const char *data_text)
{
    CUmemoryPool pool;
    CUmemPoolPtrExportData data;
    uint32_t word = 0;
    int fd = token_file(pool_text);
    memset(&data, 0, sizeof(data));
    read_token(data_text, &data);
    CUresult result = cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
                                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                         0);
    close(fd);
    if (result) {
        printf("no pool %d\n", result);
        return;
    }
    result = cuMemPoolImportPointer(&theirs, pool, &data);
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
    char line[512], word[160], second[160];
    unsigned long long number;
    CUdeviceptr more;
    struct gpu gpu = open_gpu(0);
    printf("ready\n");
    while (fflush(stdout) == 0 && fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "share %llu", &number) == 1)
            share(number);
        else if (sscanf(line, "open %159s", word) == 1)
            open_token(word);
        else if (sscanf(line, "physical %llu", &number) == 1)
            make_physical(number);
        else if (sscanf(line, "import %159s %llu", word, &number) == 2)
            import_physical(word, number);
        else if (sscanf(line, "pool %llu", &number) == 1)
            make_pool(number);
        else if (sscanf(line, "adopt %159s %159s", word, second) == 2)
            adopt_pool(word, second);
        else if (sscanf(line, "take %llu", &number) == 1)
            printf("taken %d\n", cuMemAlloc(&more, number));
        else if (!strcmp(line, "free\n"))
            printf("freed %d\n", cuMemFree(mine));
        else if (!strcmp(line, "give\n"))
            printf("given %d\n", cuMemFree(theirs));
        else if (!strcmp(line, "close\n"))
            printf("closed %d\n", cuIpcCloseMemHandle(theirs));
        else
            left();
    }
    close_gpu(&gpu);
    return 0;
}
