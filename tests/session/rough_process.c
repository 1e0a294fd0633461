// SPDX-License-Identifier: BSD-3-Clause
// A process as programs of strangers have it: rough-process MODE [ARGUMENT]. Each mode does to its
// process what some program does, and checks that the library goes on beside it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/programs/driver.h"

enum { PAGE = 4096, MIB = 1 << 20, SEEN = 1024 };

static struct gpu gpu;

static void fill(uint8_t *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

static size_t differences(const uint8_t *bytes, size_t size, unsigned seed)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] != (uint8_t)(i * 7 + i / 251 + seed);
    return count;
}

static void round_trip(const char *what)
{
    static uint8_t out[MIB], in[MIB];
    CUdeviceptr data = device_alloc(MIB);
    fill(out, MIB, 3);
    CHECK(cuMemcpyHtoD(data, out, MIB));
    CHECK(cuMemcpyDtoH(in, data, MIB));
    is_int((long long)differences(in, MIB, 3), 0, "%s: 1 MiB comes back as it went", what);
    CHECK(cuMemFree(data));
}

// ---- cancelled: a thread is cancelled inside of a call ----

static atomic_uint calls;
static atomic_int waiter; // the thread that is about to wait, or waits; 0: none

static void *call_for_ever(void *unused)
{
    uint8_t bytes[8192] = {0};
    for (;;) {
        CUdeviceptr data;
        if (cuCtxSetCurrent(gpu.context) || cuMemAlloc(&data, sizeof(bytes)) ||
            cuMemcpyHtoD(data, bytes, sizeof(bytes)) || cuMemcpyDtoH(bytes, data, sizeof(bytes)) ||
            cuMemFree(data))
            return NULL;
        atomic_fetch_add(&calls, 1);
        pthread_testcancel();
    }
}

static void await_calls(int round)
{
    unsigned before = atomic_load(&calls);
    while (atomic_load(&calls) - before < 2u + (unsigned)round % 3)
        CHECK(cuCtxSynchronize());
}

static void *wait_for_ever(void *delay)
{
    unsigned long long pause = 100000000; // nanoseconds
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        if (cuCtxSetCurrent(gpu.context) ||
            cuLaunchKernel(delay, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&pause}, NULL))
            return NULL;
        atomic_store(&waiter, gettid());
        if (cuCtxSynchronize())
            return NULL;
        atomic_store(&waiter, 0);
    }
}

// The thread sleeps inside of its call. Between two calls glibc itself does not cancel a thread
// safely: its signal may arrive in the next call.
static void await_sleep(int round)
{
    char path[64], line[256] = "";
    for (;;) {
        snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atomic_load(&waiter));
        FILE *file = fopen(path, "re");
        const char *end = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
        bool sleeps = end && end[2] == 'S';
        if (file)
            fclose(file);
        if (sleeps && atomic_load(&waiter))
            return;
        sched_yield();
    }
}

static void cancel_some(const char *name, int rounds, void *(*run)(void *), void *argument,
                        void (*await)(int round))
{
    int cancelled = 0;
    for (int round = 0; round < rounds; round++) {
        pthread_t thread;
        void *end;
        if (pthread_create(&thread, NULL, run, argument))
            bail("pthread_create");
        await(round);
        pthread_cancel(thread);
        pthread_join(thread, &end);
        atomic_store(&waiter, 0);
        cancelled += end == PTHREAD_CANCELED;
        CHECK(cuCtxSynchronize());
    }
    is_int(cancelled, rounds, "all threads were cancelled (%s)", name);
    round_trip(name);
}

static void cancelled(const char *argument)
{
    gpu = open_gpu(0);
    cancel_some("deferred", 40, call_for_ever, NULL, await_calls);
    cancel_some("asynchronous", 10, wait_for_ever, kernel(&gpu, "delay"), await_sleep);
    close_gpu(&gpu);
}

// ---- closed DIGITS: standard descriptors are closed before the library makes any ----

static int print_lines(void)
{
    int lines = 0;
    for (int i = 0; i < 50; i++) {
        lines += printf("hello, this is line %d of the program's output\n", i) > 0;
        lines += fprintf(stderr, "hello, this is line %d of the program's errors\n", i) > 0;
        fflush(stdout);
    }
    return lines;
}

static void look_at_descriptors(const bool *before)
{
    DIR *list = opendir("/proc/self/fd");
    const struct dirent *entry;
    int low = 0, inherited = 0, count = 0;
    if (!list)
        bail("/proc/self/fd");
    while ((entry = readdir(list))) {
        int fd = atoi(entry->d_name);
        if (*entry->d_name == '.' || fd == dirfd(list) || (fd < SEEN && before[fd]))
            continue;
        count++;
        low += fd < 3;
        if (fcntl(fd, F_GETFD) & FD_CLOEXEC)
            continue;
        char path[64], file[200] = "";
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        diag("descriptor %d is %s", fd, readlink(path, file, sizeof(file) - 1) < 0 ? "?" : file);
        inherited++;
    }
    closedir(list);
    ok(count > 0, "the library has descriptors");
    diag("%d of them", count);
    is_int(low, 0, "none of them is 0, 1 or 2");
    is_int(inherited, 0, "all of them are closed on exec");
}

static void closed(const char *digits)
{
    enum { SAVED_OUT = 60, SAVED_ERR = 61 };
    bool before[SEEN];
    if (dup2(1, SAVED_OUT) < 0 || dup2(2, SAVED_ERR) < 0)
        bail("dup2");
    for (const char *at = digits; *at && *at != '-'; at++)
        close(*at - '0');
    for (int i = 0; i < SEEN; i++)
        before[i] = fcntl(i, F_GETFD) >= 0;
    gpu = open_gpu(0);
    print_lines();
    uint8_t bytes[64] = {0};
    CUdeviceptr data = device_alloc(sizeof(bytes));
    CUresult result = cuMemcpyHtoD(data, bytes, sizeof(bytes));
    print_lines();
    bool taken[3];
    for (int i = 0; i < 3; i++)
        taken[i] = !before[i] && fcntl(i, F_GETFD) >= 0;
    clearerr(stdout);
    clearerr(stderr);
    dup2(SAVED_OUT, 1);
    dup2(SAVED_ERR, 2);
    before[0] = before[1] = before[2] = true;
    ok(!taken[0] && !taken[1] && !taken[2], "what the program has closed stays closed");
    is_int(result, CUDA_SUCCESS, "a copy works without %s", digits);
    round_trip("afterwards");
    look_at_descriptors(before);
    close_gpu(&gpu);
}

// ---- swept: all descriptors from 3 on are closed while there is a session ----

static void swept(const char *argument)
{
    gpu = open_gpu(0);
    CUdeviceptr data = device_alloc(64);
    uint8_t bytes[64];
    if (close_range(3, ~0U, 0))
        skip_all("close_range");
    // Shared memory carries copies without a descriptor until the worker sees that the
    // connection is closed.
    CUresult result;
    while ((result = cuMemcpyDtoH(bytes, data, sizeof(bytes))) == CUDA_SUCCESS)
        continue;
    is_int(cuMemcpyDtoH(bytes, data, sizeof(bytes)), result,
           "once a copy is an error for want of the library's descriptors, so is the next one");
    ok(cuCtxSynchronize() != CUDA_SUCCESS, "and waiting");
}

// ---- cloned: a child by clone3 without the C library, which runs no fork handler ----

static int status_of_clone(void (*in_child)(void))
{
    struct clone_args how = {.exit_signal = SIGCHLD};
    fflush(stdout);
    long child = syscall(SYS_clone3, &how, sizeof(how));
    int status = -1;
    if (child == 0) {
        in_child();
        _exit(0);
    }
    if (child < 0 || waitpid((pid_t)child, &status, 0) != child)
        skip_all("clone3");
    return status;
}

static CUdeviceptr of_parent;

// The exit status has a bit for each call that should have failed.
static void call_in_clone(void)
{
    static uint8_t bytes[64];
    CUdeviceptr data;
    int worked = cuMemAlloc(&data, 4096) == CUDA_SUCCESS;
    worked |= (cuMemcpyDtoH(bytes, of_parent, sizeof(bytes)) == CUDA_SUCCESS) << 1;
    worked |= (cuCtxSynchronize() == CUDA_SUCCESS) << 2;
    worked |= (cuInit(0) == CUDA_SUCCESS) << 3;
    worked |= (cuMemFree(of_parent) == CUDA_SUCCESS) << 4;
    _exit(worked);
}

static void exit_in_clone(void)
{
    exit(0);
}

static void open_in_clone(void)
{
    struct gpu own = open_gpu(0);
    CUdeviceptr data = device_alloc(4096);
    _exit(cuMemFree(data) == CUDA_SUCCESS && own.device == 0 ? 0 : 1);
}

static void cloned(const char *argument)
{
    is_int(status_of_clone(open_in_clone), 0, "a child that is cloned before cuInit computes");
    gpu = open_gpu(0);
    of_parent = device_alloc(MIB);
    is_int(status_of_clone(call_in_clone), 0, "every call of a child cloned after it fails");
    round_trip("the parent goes on");
    is_int(status_of_clone(exit_in_clone), 0, "a child that is cloned and exits");
    round_trip("does its parent no harm");
    CHECK(cuMemFree(of_parent));
    close_gpu(&gpu);
}

// ---- barriers: pages that a handler opens when they are touched ----

static atomic_uint faults;

// As a garbage collector's write barrier does, or a checkpointer's.
static void open_page(int number, siginfo_t *info, void *state)
{
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
    if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE))
        _exit(98);
    atomic_fetch_add(&faults, 1);
}

// A file that has become shorter is longer again.
static int shrunken = -1;
static off_t whole;
static void lengthen(int number, siginfo_t *info, void *state)
{
    if (ftruncate(shrunken, whole))
        _exit(97);
    atomic_fetch_add(&faults, 1);
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    if (sigaction(number, &action, NULL))
        bail("sigaction");
}

static uint8_t *pages(size_t size, int fd)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        bail("mmap");
    return at;
}

static void copy_behind_barriers(size_t size)
{
    uint8_t *memory = pages(size, -1), *other = pages(size, -1);
    CUdeviceptr data = device_alloc(size);
    fill(other, size, 5);
    CHECK(cuMemcpyHtoD(data, other, size));
    memset(memory, 0, size);
    mprotect(memory, size, PROT_READ);
    atomic_store(&faults, 0);
    is_int(cuMemcpyDtoH(memory, data, size), CUDA_SUCCESS,
           "%zu bytes from the GPU into read-only pages", size);
    is_int((long long)differences(memory, size, 5), 0, "they are right");
    is_int(atomic_load(&faults), (long long)(size / PAGE), "the handler has opened each page");
    mprotect(memory, size, PROT_READ | PROT_WRITE);
    fill(memory, size, 6);
    mprotect(memory, size, PROT_NONE);
    is_int(cuMemcpyHtoD(data, memory, size), CUDA_SUCCESS,
           "%zu bytes to the GPU from pages without access", size);
    CHECK(cuMemcpyDtoH(other, data, size));
    is_int((long long)differences(other, size, 6), 0, "they are right");
    munmap(memory, size);
    munmap(other, size);
    CHECK(cuMemFree(data));
}

static void copy_into_a_shrunken_file(size_t size)
{
    whole = (off_t)size;
    shrunken = memfd_create("shrunken", MFD_CLOEXEC);
    if (shrunken < 0 || ftruncate(shrunken, whole))
        bail("memfd_create");
    uint8_t *memory = pages(size, shrunken), *other = pages(size, -1);
    CUdeviceptr data = device_alloc(size);
    fill(other, size, 8);
    CHECK(cuMemcpyHtoD(data, other, size));
    atomic_store(&faults, 0);
    if (ftruncate(shrunken, whole / 2))
        bail("ftruncate");
    is_int(cuMemcpyDtoH(memory, data, size), CUDA_SUCCESS,
           "%zu bytes from the GPU into a file that was shortened", size);
    is_int((long long)differences(memory, size, 8), 0, "they are right");
    ok(atomic_load(&faults) > 0, "its handler has run");
    munmap(memory, size);
    munmap(other, size);
    close(shrunken);
    CHECK(cuMemFree(data));
}

// The pages are in the GPU's reach already, so the handler need not run; the data are right either
// way.
static void copy_behind_barriers_of_locked_memory(size_t size)
{
    uint8_t *memory = pages(size, -1), *other = pages(size, -1);
    CUdeviceptr data = device_alloc(size);
    fill(memory, size, 11);
    CHECK(cuMemHostRegister(memory, size, 0));
    mprotect(memory, size, PROT_READ);
    is_int(cuMemcpyHtoD(data, memory, size), CUDA_SUCCESS,
           "%zu bytes to the GPU from registered pages that became read-only", size);
    CHECK(cuMemcpyDtoH(other, data, size));
    is_int((long long)differences(other, size, 11), 0, "they are right");
    CHECK(cuMemsetD8(data, 0, size));
    is_int(cuMemcpyDtoH(memory, data, size), CUDA_SUCCESS, "%zu bytes from the GPU into them",
           size);
    ok(memory[0] == 0 && memory[size - 1] == 0, "they are there");
    mprotect(memory, size, PROT_READ | PROT_WRITE);
    CHECK(cuMemHostUnregister(memory));
    munmap(memory, size);
    munmap(other, size);
    CHECK(cuMemFree(data));
}

static void barriers(const char *argument)
{
    static const size_t sizes[] = {2 * PAGE, 16 * PAGE, MIB, 32 * MIB};
    gpu = open_gpu(0);
    handle(SIGSEGV, open_page);
    handle(SIGBUS, lengthen);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        copy_behind_barriers(sizes[i]);
        copy_into_a_shrunken_file(sizes[i]);
        copy_behind_barriers_of_locked_memory(sizes[i]);
    }
    round_trip("afterwards");
    close_gpu(&gpu);
}

// ---- gone BYTES: memory of a copy that is not there ----

static void gone(const char *bytes)
{
    size_t size = (size_t)atoll(bytes);
    gpu = open_gpu(0);
    CUdeviceptr data = device_alloc(size);
    uint8_t *memory = pages(size, -1);
    munmap(memory, size);
    fflush(stdout);
    cuMemcpyDtoH(memory, data, size);
    bail("the copy has returned");
}

// ---- tour: a little of everything that programs do, for surroundings.t ----

static void *tour_thread(void *argument)
{
    enum { WORDS = 4096 };
    static const unsigned value = 7;
    unsigned n = WORDS, *wrong = argument;
    uint32_t words[WORDS] = {0};
    CUstream stream;
    CUdeviceptr data;
    CUfunction add = kernel(&gpu, "add");
    CHECK(cuCtxSetCurrent(gpu.context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&data, sizeof(words)));
    for (int round = 0; round < 3; round++) {
        CHECK(cuMemcpyHtoDAsync(data, words, sizeof(words), stream));
        launch(add, 32, 128, stream, &data, (void *)&value, &n);
        CHECK(cuMemcpyDtoHAsync(words, data, sizeof(words), stream));
        CHECK(cuStreamSynchronize(stream));
    }
    for (int i = 0; i < WORDS; i++)
        *wrong += words[i] != 3 * value;
    CHECK(cuMemFree(data));
    CHECK(cuStreamDestroy(stream));
    return NULL;
}

static void tour(const char *argument)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    unsigned wrong[THREADS] = {0}, sum = 0;
    void *locked;
    CUdeviceptr managed, data;
    gpu = open_gpu(0);
    round_trip("ordinary memory");
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, tour_thread, &wrong[i]))
            bail("pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        sum += wrong[i];
    is_int(sum, 0, "kernels and copies in the streams of %d threads", THREADS);
    CHECK(cuMemHostAlloc(&locked, 65536, 0));
    fill(locked, 65536, 9);
    data = device_alloc(65536);
    CHECK(cuMemcpyHtoD(data, locked, 65536));
    memset(locked, 0, 65536);
    CHECK(cuMemcpyDtoH(locked, data, 65536));
    is_int((long long)differences(locked, 65536, 9), 0, "page-locked memory");
    CHECK(cuMemFreeHost(locked));
    CHECK(cuMemFree(data));
    // A limit of file sizes may refuse this, as the memory is a file where the box maps it.
    CUresult larger = cuMemHostAlloc(&locked, 4 << 20, 0);
    ok(!larger || larger == CUDA_ERROR_OUT_OF_MEMORY, "more page-locked memory, or an error");
    if (!larger)
        CHECK(cuMemFreeHost(locked));
    CHECK(cuMemAllocManaged(&managed, 65536, CU_MEM_ATTACH_GLOBAL));
    fill((uint8_t *)managed, 65536, 4);
    CHECK(cuMemsetD8((CUdeviceptr)managed, 1, 16));
    CHECK(cuCtxSynchronize());
    is_int(*(volatile uint8_t *)managed, 1, "managed memory");
    CHECK(cuMemFree(managed));
    close_gpu(&gpu);
}

// ---- deny CALL=ERROR: the kernel refuses one kind of system call of the process ----

static void deny(const char *argument)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument, "="), argument);
    int error = strstr(argument, "=ENOSYS") ? ENOSYS : strstr(argument, "=EACCES") ? EACCES : EPERM;
    int call = seccomp_syscall_resolve_name(name);
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (call == __NR_SCMP_ERROR)
        skip_all("no call of that name");
    if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO((unsigned)error), call, 0) ||
        seccomp_load(filter))
        skip_all("no filter can be loaded");
    tour(argument);
}

static const struct mode {
    const char *name;
    void (*run)(const char *argument);
} modes[] = {
    {"cancelled", cancelled}, {"closed", closed}, {"barriers", barriers}, {"gone", gone},
    {"tour", tour},           {"deny", deny},     {"swept", swept},       {"cloned", cloned},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        modes[i].run(argc > 2 ? argv[2] : "");
        return done();
    }
    bail("no such mode");
}
