// SPDX-License-Identifier: BSD-3-Clause
// A program that reads files into page-locked memory and writes them from it by an io_uring with
// fixed buffers, so that the kernel holds the same pages as the library.
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/programs/driver.h"

enum { ENTRIES = 8, SIZE = 1 << 20 };

struct ring {
    int fd;
    struct io_uring_params parameters;
    char *rings;
    struct io_uring_sqe *requests;
};

static void open_ring(struct ring *ring)
{
    struct io_uring_params *p = &ring->parameters;
    ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, p);
    if (ring->fd < 0 || !(p->features & IORING_FEAT_SINGLE_MMAP))
        skip_all("no io_uring here");
    size_t size = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
    ring->rings =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
    ring->requests = mmap(NULL, p->sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
                          MAP_SHARED, ring->fd, IORING_OFF_SQES);
    if (ring->rings == MAP_FAILED || ring->requests == MAP_FAILED)
        bail("mmap");
}

static uint32_t *word(const struct ring *ring, uint32_t offset)
{
    return (uint32_t *)(void *)(ring->rings + offset);
}

// One request, and its result.
static int carry_out(struct ring *ring, uint8_t opcode, int file, void *memory, uint16_t buffer)
{
    const struct io_uring_params *p = &ring->parameters;
    uint32_t tail = *word(ring, p->sq_off.tail), mask = *word(ring, p->sq_off.ring_mask);
    ring->requests[tail & mask] = (struct io_uring_sqe){
        .opcode = opcode, .fd = file, .addr = (uintptr_t)memory, .len = SIZE, .buf_index = buffer};
    word(ring, p->sq_off.array)[tail & mask] = tail & mask;
    __atomic_store_n(word(ring, p->sq_off.tail), tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
        return -errno;
    uint32_t head = *word(ring, p->cq_off.head);
    const struct io_uring_cqe *ends = (const void *)(ring->rings + p->cq_off.cqes);
    int result = ends[head & *word(ring, p->cq_off.ring_mask)].res;
    __atomic_store_n(word(ring, p->cq_off.head), head + 1, __ATOMIC_RELEASE);
    return result;
}

int main(void)
{
    struct ring ring = {0};
    open_ring(&ring);
    struct gpu gpu = open_gpu(0);
    void *in, *out;
    uint8_t *bytes = must_alloc(SIZE);
    int file = memfd_create("file", MFD_CLOEXEC);
    fill_random(bytes, SIZE, 3);
    if (file < 0 || write(file, bytes, SIZE) != SIZE)
        bail("a file");
    CHECK(cuMemHostAlloc(&in, SIZE, 0));
    CHECK(cuMemHostAlloc(&out, SIZE, 0));
    const struct iovec buffers[] = {{in, SIZE}, {out, SIZE}};
    if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, buffers, 2))
        skip_all("page-locked memory cannot be a fixed buffer here: %s", strerror(errno));
    CUdeviceptr data = device_alloc(SIZE);
    is_int(carry_out(&ring, IORING_OP_READ_FIXED, file, in, 0), SIZE,
           "a file is read into page-locked memory");
    CHECK(cuMemcpyHtoD(data, in, SIZE));
    CHECK(cuMemcpyDtoH(out, data, SIZE));
    is_int(carry_out(&ring, IORING_OP_WRITE_FIXED, file, out, 1), SIZE, "and written from it");
    memset(bytes, 0, SIZE);
    if (pread(file, bytes, SIZE, 0) != SIZE)
        bail("pread");
    ok(!memcmp(bytes, in, SIZE) && has_random(data, SIZE, 3),
       "what went by way of the GPU is right");
    CHECK(cuMemFree(data));
    CHECK(cuMemFreeHost(in));
    CHECK(cuMemFreeHost(out));
    close(ring.fd);
    close_gpu(&gpu);
    free(bytes);
    return done();
}
