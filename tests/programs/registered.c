// SPDX-License-Identifier: BSD-3-Clause
// Memory that the program registers: shared files of /dev/shm and without a name. Pointers for the
// device work if the device reports that it maps host memory, and are refused otherwise.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/programs/driver.h"

enum { SIZE = 1 << 20, WORDS = SIZE / 4 };

static bool maps_host_memory;

static int named_file(char *path, size_t room)
{
    snprintf(path, room, "/dev/shm/rgpu-registered-%d", (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 4 * SIZE))
        bail("no file in /dev/shm");
    return fd;
}

static uint32_t *map(int fd, off_t offset)
{
    void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    if (memory == MAP_FAILED)
        bail("cannot map a file");
    return memory;
}

static unsigned wrong_words(const uint32_t *words, uint32_t want)
{
    unsigned wrong = 0;
    for (int i = 0; i < WORDS; i++)
        wrong += words[i] != want;
    return wrong;
}

static void fill(uint32_t *words, uint32_t value)
{
    for (int i = 0; i < WORDS; i++)
        words[i] = value;
}

// Copies from and to it, which need no pointer for the device.
static void check_copies(uint32_t *memory, CUstream stream, const char *what)
{
    CUdeviceptr data = device_alloc(SIZE);
    fill(memory, 11);
    CHECK(cuMemcpyHtoDAsync(data, memory, SIZE, stream));
    CHECK(cuStreamSynchronize(stream));
    fill(memory, 0);
    CHECK(cuMemcpyDtoHAsync(memory, data, SIZE, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(memory, 11), 0, "%s is copied from and to", what);
    CHECK(cuMemFree(data));
}

static void check_kernels(const struct gpu *gpu, uint32_t *memory, const uint32_t *others,
                          CUdeviceptr address, CUstream stream, const char *what)
{
    uint32_t n = WORDS, two = 2;
    fill(memory, 40);
    launch(kernel(gpu, "add"), WORDS / 256, 256, stream, &address, &two, &n);
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(memory, 42), 0, "a kernel reads and writes %s", what);
    is_int(wrong_words(others, 42), 0, "which whoever else maps the file sees");
    CUdeviceptr middle = 0;
    CHECK(cuMemHostGetDevicePointer(&middle, memory + 1000, 0));
    ok(middle == address + 4000, "the pointer of its middle is in the middle");
}

// MEMORY is registered and OTHERS is another mapping of the same.
static void check_shared(const struct gpu *gpu, uint32_t *memory, uint32_t *others, CUstream stream,
                         const char *what)
{
    CUdeviceptr address = 0;
    gives(cuMemHostRegister(memory, SIZE,
                            CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
          CUDA_SUCCESS, "%s can be registered", what);
    gives(cuMemHostRegister(memory, SIZE, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "once");
    check_copies(memory, stream, what);
    gives(cuMemHostGetDevicePointer(&address, memory, 0),
          maps_host_memory ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED,
          "%s has a pointer for the device, if the device maps host memory", what);
    if (maps_host_memory)
        check_kernels(gpu, memory, others, address, stream, what);
    gives(cuMemHostUnregister(memory), CUDA_SUCCESS, "it is unregistered");
    gives(cuMemHostGetDevicePointer(&address, memory, 0), CUDA_ERROR_INVALID_VALUE,
          "and has no pointer any more");
    fill(memory, 3);
    is_int(wrong_words(others, 3), 0, "but is shared as before");
}

static void check_named(const struct gpu *gpu, CUstream stream)
{
    char path[64];
    int fd = named_file(path, sizeof(path));
    uint32_t *memory = map(fd, 2 * SIZE), *others = map(fd, 2 * SIZE);
    close(fd);
    check_shared(gpu, memory, others, stream, "memory of /dev/shm whose descriptor is closed");
    unlink(path);
    gives(cuMemHostRegister(memory, SIZE, 0), CUDA_SUCCESS, "what has neither name nor descriptor");
    check_copies(memory, stream, "it");
    CHECK(cuMemHostUnregister(memory));
    munmap(memory, SIZE);
    munmap(others, SIZE);
}

static void check_unnamed(const struct gpu *gpu, CUstream stream)
{
    int fd = memfd_create("registered", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, SIZE))
        bail("no memory file");
    uint32_t *memory = map(fd, 0), *others = map(fd, 0);
    check_shared(gpu, memory, others, stream, "a memory file");
    close(fd);
    munmap(memory, SIZE);
    munmap(others, SIZE);
}

// A file that does not end with a page, as libraries make theirs that share it between processes.
static void check_odd_size(const struct gpu *gpu, CUstream stream)
{
    enum { ODD = 9637892 };
    int fd = memfd_create("odd", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, ODD))
        bail("no memory file");
    uint32_t *memory = mmap(NULL, ODD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CUdeviceptr address = 0;
    uint32_t n = 100, one = 1;
    gives(cuMemHostRegister(memory, ODD,
                            CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
          CUDA_SUCCESS, "a file of an odd size");
    if (maps_host_memory) {
        gives(cuMemHostGetDevicePointer(&address, memory, 0), CUDA_SUCCESS,
              "it has a pointer for the device");
        address += ODD / 4 * 4 - 400;
        launch(kernel(gpu, "add"), 1, 128, stream, &address, &one, &n);
        CHECK(cuStreamSynchronize(stream));
        is_int((int)memory[ODD / 4 - 1], 1, "a kernel writes its last word");
    }
    CHECK(cuMemHostUnregister(memory));
    munmap(memory, ODD);
    close(fd);
}

// Neither end on the edge of a page, and two pieces of one file at once.
static void check_pieces(const struct gpu *gpu, CUstream stream)
{
    char path[64];
    int fd = named_file(path, sizeof(path));
    unsigned char *memory = (unsigned char *)map(fd, SIZE);
    uint32_t n = 100, one = 1, *words = (uint32_t *)(memory + 1000);
    CUdeviceptr address;
    CHECK(cuMemHostRegister(memory + 1000, 400, CU_MEMHOSTREGISTER_DEVICEMAP));
    CHECK(cuMemHostRegister(memory + 100000, 5000, 0));
    memset(words, 0, 400);
    if (maps_host_memory) {
        CHECK(cuMemHostGetDevicePointer(&address, words, 0));
        launch(kernel(gpu, "add"), 1, 128, stream, &address, &one, &n);
    } else {
        CUdeviceptr data = device_alloc(400);
        CHECK(cuMemsetD32(data, 1, n));
        CHECK(cuMemcpyDtoHAsync(words, data, 400, stream));
    }
    CHECK(cuStreamSynchronize(stream));
    ok(words[0] == 1 && words[99] == 1, "pieces are registered where they begin and end");
    CHECK(cuMemHostUnregister(memory + 100000));
    CHECK(cuMemHostUnregister(memory + 1000));
    unlink(path);
    close(fd);
    munmap(memory, SIZE);
}

static void check_private(CUstream stream)
{
    CUdeviceptr address = 0;
    uint32_t *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gives(cuMemHostRegister(memory, SIZE, 0), CUDA_SUCCESS, "memory that nobody shares");
    check_copies(memory, stream, "it");
    CUresult pointer = cuMemHostGetDevicePointer(&address, memory, 0);
    CHECK(cuMemHostUnregister(memory));
    CUresult mapped = cuMemHostRegister(memory, SIZE, CU_MEMHOSTREGISTER_DEVICEMAP);
    ok(!maps_host_memory || mapped == pointer,
       "who asks for it as the device's is told at once whether it has pointers there");
    if (mapped == CUDA_SUCCESS)
        CHECK(cuMemHostUnregister(memory));
    munmap(memory, SIZE);
}

// Checks memory that the driver (580) cannot lock and refuses.
static void check_refused(void)
{
    uint8_t *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bail("mmap");
    mprotect(memory, SIZE, PROT_NONE);
    gives(cuMemHostRegister(memory, SIZE, 0), CUDA_ERROR_INVALID_VALUE, "memory without access");
    gives(cuMemHostRegister(memory, SIZE, CU_MEMHOSTREGISTER_READ_ONLY), CUDA_ERROR_INVALID_VALUE,
          "memory without access, to be read");
    mprotect(memory, SIZE, PROT_READ);
    gives(cuMemHostRegister(memory, SIZE, 0), CUDA_ERROR_INVALID_VALUE, "memory that is only read");
    mprotect(memory, SIZE, PROT_READ | PROT_WRITE);
    munmap(memory + SIZE / 2, 4096);
    gives(cuMemHostRegister(memory, SIZE, 0), CUDA_ERROR_INVALID_VALUE, "memory with a hole");
    munmap(memory, SIZE);
    gives(cuMemHostRegister(memory, 4096, 0), CUDA_ERROR_INVALID_VALUE,
          "memory that is not mapped");
    gives(cuMemHostRegister((void *)0x10000, (size_t)1 << 40, 0), CUDA_ERROR_OUT_OF_MEMORY,
          "more than the host has");
    int file = memfd_create("short", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 4096))
        bail("memfd_create");
    memory = (uint8_t *)map(file, 0);
    gives(cuMemHostRegister(memory, SIZE, 0), CUDA_ERROR_INVALID_VALUE,
          "memory beyond its file's end");
    munmap(memory, SIZE);
    close(file);
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    check_refused();
    maps_host_memory = device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    check_named(&gpu, stream);
    check_unnamed(&gpu, stream);
    check_odd_size(&gpu, stream);
    check_pieces(&gpu, stream);
    check_private(stream);
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
