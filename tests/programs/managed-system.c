// SPDX-License-Identifier: BSD-3-Clause
// Managed memory and the rest of a process: system calls read and write it, child processes do not
// have it, handlers of SIGSEGV see only their own faults, and accesses while a GPU works lose no
// data.
//
//     managed-system [strict]    system calls have to work without the program's having touched the
//                                memory
#include "tests/programs/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 300 * 1000, HALF = SIZE / 2 };

static struct gpu gpu;
static bool strict;
static unsigned char *memory;

static CUdeviceptr address(void)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

// From here on only the GPU has the contents.
static void gpu_fills(unsigned char value)
{
    CHECK(cuMemsetD8(address(), value, SIZE));
    CHECK(cuCtxSynchronize());
}

static void touch(bool write)
{
    for (volatile unsigned char *at = memory; at < memory + SIZE; at += 4096)
        if (write)
            *at = *at;
        else
            (void)*at;
}

// Retries a system call that returned EFAULT because it cannot wait for the contents.
static ssize_t again(ssize_t result, bool write)
{
    if (result >= 0 || errno != EFAULT || strict)
        return result;
    touch(write);
    return -1;
}

#define CALL(call, write) \
    ({ \
        ssize_t first_ = again((call), (write)); \
        first_ < 0 && errno == EFAULT && !strict ? (call) : first_; \
    })

static bool all(const unsigned char *bytes, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static void files(void)
{
    static unsigned char back[SIZE];
    char path[] = "/tmp/managed-system-XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    gpu_fills(65);
    is_int(CALL(write(file, memory, SIZE), false), SIZE, "what a GPU wrote is written to a file");
    ok(pread(file, back, SIZE, 0) == SIZE && all(back, SIZE, 65), "and is there");
    memset(back, 66, SIZE);
    ok(pwrite(file, back, SIZE, 0) == SIZE, "the file gets other contents");
    gpu_fills(67);
    is_int(CALL(pread(file, memory, HALF, 0), true), HALF, "a file is read into it");
    CHECK(cuMemcpyDtoH(back, address(), SIZE));
    ok(all(back, HALF, 66) && all(back + HALF, SIZE - HALF, 67),
       "the GPU sees what was read, and its own bytes beside it");
    unsigned char *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    gpu_fills(68);
    memcpy(mapped, memory, SIZE);
    ok(all(mapped, SIZE, 68), "it is copied into a mapping of a file");
    munmap(mapped, SIZE);
    close(file);
}

static void *send_all(void *descriptor)
{
    static unsigned char bytes[HALF];
    memset(bytes, 70, HALF);
    for (size_t sent = 0; sent < HALF;) {
        ssize_t now = write(*(int *)descriptor, bytes + sent, HALF - sent);
        if (now <= 0)
            break;
        sent += (size_t)now;
    }
    return NULL;
}

static void pipes_and_sockets(void)
{
    int pair[2], ends[2];
    pthread_t thread;
    unsigned char small[100];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pipe(ends))
        bail("no socket or pipe");
    gpu_fills(69);
    pthread_create(&thread, NULL, send_all, &pair[1]);
    size_t got = 0;
    while (got < HALF) {
        ssize_t now = CALL(recv(pair[0], memory + got, HALF - got, 0), true);
        if (now <= 0)
            break;
        got += (size_t)now;
    }
    pthread_join(thread, NULL);
    ok(got == HALF && all(memory, HALF, 70), "a socket is read into it");
    gpu_fills(71);
    struct iovec parts[2] = {{memory, 50}, {memory + SIZE - 50, 50}};
    is_int(CALL(writev(ends[1], parts, 2), false), 100, "two parts of it go into a pipe");
    ok(read(ends[0], small, 100) == 100 && all(small, 100, 71), "and come out of it");
    for (int i = 0; i < 2; i++) {
        close(pair[i]);
        close(ends[i]);
    }
}

// ---- children ----

static void children(void)
{
    int status = 0;
    gpu_fills(72);
    pid_t child = fork();
    if (!child) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(SIGSEGV, &standard, NULL);
        _exit(*(volatile unsigned char *)memory);
    }
    waitpid(child, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "a child has no managed memory");
    child = fork();
    if (!child) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "and can execute another program");
    ok(all(memory, SIZE, 72), "the parent still has it");
}

// ---- handlers ----

static unsigned char *page; // of the program's own, which its handlers open
static int early_faults, late_faults, foreign_faults;
static struct sigaction before_late;

static bool open_page(const siginfo_t *info)
{
    unsigned char *at = info->si_addr;
    if (at < page || at >= page + 4096) {
        foreign_faults++;
        return false;
    }
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    return true;
}

static void early_handler(int number, siginfo_t *info, void *state)
{
    early_faults++;
    if (!open_page(info))
        _exit(70);
}

// As libraries do that call the previous handler.
static void late_handler(int number, siginfo_t *info, void *state)
{
    late_faults++;
    unsigned char *at = info->si_addr;
    if (late_faults % 2 && at >= page && at < page + 4096)
        open_page(info);
    else if (before_late.sa_flags & SA_SIGINFO)
        before_late.sa_sigaction(number, info, state);
    else
        _exit(71);
}

static void own_fault(void)
{
    mprotect(page, 4096, PROT_NONE);
    *(volatile unsigned char *)page = 1;
}

static void install(void (*handler)(int, siginfo_t *, void *), struct sigaction *before)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK, .sa_sigaction = handler};
    sigaction(SIGSEGV, &action, before);
}

static void use_managed(unsigned char value)
{
    gpu_fills(value);
    bool right = all(memory, SIZE, value);
    memset(memory, value + 1, SIZE);
    static unsigned char back[SIZE];
    CHECK(cuMemcpyDtoH(back, address(), SIZE));
    ok(right && all(back, SIZE, value + 1), "managed memory is used beside handlers");
}

static void handlers(void)
{
    own_fault();
    is_int(early_faults, 1, "a handler from before the first managed memory sees its fault");
    use_managed(80);
    install(late_handler, &before_late);
    use_managed(82);
    own_fault();
    is_int(late_faults, 1, "a later one sees it");
    own_fault();
    ok(late_faults == 2 && early_faults == 2, "and passes it to the one that was there before");
    use_managed(84);
    ok(early_faults == 2 && late_faults == 2 && !foreign_faults,
       "none of them has seen one of managed memory");
}

// ---- while a GPU works ----

static void *release_later(void *hold)
{
    CHECK(cuCtxSetCurrent(gpu.context));
    hold_release(hold);
    return NULL;
}

static void at_the_same_time(void)
{
    CUstream stream;
    pthread_t thread;
    unsigned int value = 5, count = 1, none = 0;
    CUdeviceptr first = address();
    CUfunction add = kernel(&gpu, "add");
    volatile unsigned int *words = (volatile unsigned int *)(void *)memory;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gpu_fills(0);
    // The first launch loads the function, which may wait for all that runs.
    launch(add, 1, 1, stream, &first, &value, &none);
    CHECK(cuStreamSynchronize(stream));
    words[1] = 1;
    struct hold hold = hold_stream(&gpu, stream);
    launch(add, 1, 1, stream, &first, &value, &count);
    pthread_create(&thread, NULL, release_later, &hold);
    words[2] = 7; // which may have to wait for the kernel
    pthread_join(thread, NULL);
    CHECK(cuCtxSynchronize());
    ok(words[0] == 5 && words[1] == 1 && words[2] == 7,
       "words of one page, written by both at once");
    launch(add, 1, 1, stream, &first, &value, &count);
    CHECK(cuStreamSynchronize(stream));
    ok(words[0] == 10 && words[2] == 7, "and kept");
    CHECK(cuStreamDestroy(stream));
}

// Shows ThreadSanitizer that the function precedes the end of the wait for its stream. The real
// order comes from the box, which it cannot see.
static _Atomic int written;

static void CUDA_CB write_next(void *argument)
{
    unsigned int *words = argument;
    words[1] = words[0] + 1;
    written++;
}

static void in_a_callback(void)
{
    CUstream stream;
    unsigned int value = 3, count = 2;
    CUdeviceptr first = address();
    unsigned int *words = (unsigned int *)(void *)memory;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gpu_fills(0);
    launch(kernel(&gpu, "add"), 1, 1, stream, &first, &value, &count);
    CHECK(cuLaunchHostFunc(stream, write_next, words));
    launch(kernel(&gpu, "add"), 1, 1, stream, &first, &value, &count);
    CHECK(cuStreamSynchronize(stream));
    is_int(written, 1, "a function in the middle of a stream has run once");
    ok(words[0] == 6 && words[1] == 7, "it reads and writes managed memory");
    CHECK(cuStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    CUdeviceptr allocated;
    stack_t stack = {.ss_size = 64 * 1024};
    strict = argc > 1;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack.ss_sp = must_alloc(stack.ss_size);
    sigaltstack(&stack, NULL);
    install(early_handler, NULL);
    gpu = open_gpu(0);
    CHECK(cuMemAllocManaged(&allocated, SIZE, CU_MEM_ATTACH_GLOBAL));
    memory = (unsigned char *)(uintptr_t)allocated;
    files();
    pipes_and_sockets();
    children();
    handlers();
    at_the_same_time();
    in_a_callback();
    CHECK(cuMemFree(allocated));
    close_gpu(&gpu);
    munmap(page, 4096);
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(stack.ss_sp);
    return done();
}
