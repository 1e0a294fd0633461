// SPDX-License-Identifier: BSD-3-Clause
// Host memory that a kernel gets after the program has used it as plain page-locked memory: by its
// pointer for the device, or by its own address among the parameters, as one address space for
// hosts and GPUs allows. The contents go along, copies in flight arrive first, and the memory stays
// open to system calls and threads.
#include "tests/programs/driver.h"

#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 5 * 65536, WORDS = SIZE / 4 };

static struct gpu gpu;
static CUstream stream;

static uint32_t *allocate(size_t size, unsigned int flags)
{
    void *memory;
    CHECK(cuMemHostAlloc(&memory, size, flags));
    return memory;
}

static void add_to(CUdeviceptr address, uint32_t value, uint32_t count)
{
    launch(kernel(&gpu, "add"), (count + 255) / 256, 256, stream, &address, &value, &count);
}

static uint32_t wrong_words(const uint32_t *words, uint32_t count, uint32_t first, uint32_t step)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; i++)
        wrong += words[i] != first + i * step;
    return wrong;
}

static void number(uint32_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        words[i] = i;
}

// Only the launch says that the GPU wants the memory.
static void address_as_parameter(unsigned int flags)
{
    uint32_t *words = allocate(SIZE, flags);
    number(words, WORDS);
    add_to((CUdeviceptr)(uintptr_t)words, 7, WORDS);
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(words, WORDS, 7, 1), 0, "a kernel adds to what the host has written");
    words[3] = 1000;
    add_to((CUdeviceptr)(uintptr_t)(words + 2), 1, 2);
    CHECK(cuStreamSynchronize(stream));
    ok(words[2] == 10 && words[3] == 1001 && words[4] == 11, "and to what it writes later");
    CHECK(cuMemFreeHost(words));
}

static void packed_parameters(void)
{
    uint32_t *words = allocate(4096, 0);
    struct {
        CUdeviceptr address;
        uint32_t value, count;
    } packed = {(CUdeviceptr)(uintptr_t)words, 5, 1024};
    size_t size = sizeof(packed);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    number(words, 1024);
    CHECK(cuLaunchKernel(kernel(&gpu, "add"), 4, 1, 1, 256, 1, 1, 0, stream, NULL, extra));
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(words, 1024, 5, 1), 0, "the address may be among packed parameters");
    CHECK(cuMemFreeHost(words));
}

// Many small allocations share pages of the library, but not with each other.
static void small_pieces(void)
{
    enum { PIECES = 40 };
    uint32_t *pieces[PIECES], wrong = 0;
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = allocate(100, CU_MEMHOSTALLOC_PORTABLE);
        pieces[i][0] = 100 + (uint32_t)i;
    }
    for (int i = 0; i < PIECES; i += 2)
        add_to((CUdeviceptr)(uintptr_t)pieces[i], 1000, 1);
    CHECK(cuStreamSynchronize(stream));
    for (int i = 0; i < PIECES; i++)
        wrong += pieces[i][0] != 100 + (uint32_t)i + (i % 2 ? 0 : 1000);
    is_int(wrong, 0, "small allocations are used one by one");
    for (int i = 0; i < PIECES; i++)
        CHECK(cuMemFreeHost(pieces[i]));
    uint32_t *again = allocate(100, 0);
    *again = 1;
    add_to((CUdeviceptr)(uintptr_t)again, 1, 1);
    CHECK(cuStreamSynchronize(stream));
    is_int(*again, 2, "so is one where another was");
    CHECK(cuMemFreeHost(again));
}

// The way of molecular dynamics programs: a kernel counts, an event says when to read.
static void counter(void)
{
    uint32_t *count = allocate(sizeof(*count), CU_MEMHOSTALLOC_DEVICEMAP), wrong = 0;
    CUdeviceptr address;
    CUevent event;
    CHECK(cuMemHostGetDevicePointer(&address, count, 0));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (uint32_t i = 1; i <= 20; i++) {
        launch(kernel(&gpu, "poke"), 1, 1, stream, &address, &i);
        CHECK(cuEventRecord(event, stream));
        CHECK(cuEventSynchronize(event));
        wrong += *count != i;
    }
    is_int(wrong, 0, "a counter has its value once an event has come");
    CHECK(cuEventDestroy(event));
    CHECK(cuMemFreeHost(count));
}

// The way of autotuners: a kernel holds the stream until the host has queued all that is measured.
static void semaphore(void)
{
    volatile uint32_t *word = allocate(sizeof(*word), CU_MEMHOSTALLOC_PORTABLE);
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)word, data = device_alloc(4096);
    uint32_t got = 0;
    CHECK(cuMemsetD32(data, 0, 1024));
    for (int turn = 0; turn < 3; turn++) {
        *word = 0;
        launch(kernel(&gpu, "wait_flag"), 1, 1, stream, &address);
        add_to(data, 1, 1024);
        *word = 1;
        CHECK(cuStreamSynchronize(stream));
    }
    CHECK(cuMemcpyDtoH(&got, data, sizeof(got)));
    is_int(got, 3, "a kernel waits for a word that the host writes after the launch");
    CHECK(cuMemFree(data));
    CHECK(cuMemFreeHost((void *)word));
}

static bool comes(volatile const uint32_t *word, uint32_t value)
{
    for (int waited_ms = 0; *word != value && waited_ms < 20000; waited_ms++)
        usleep(1000);
    return *word == value;
}

// Neither side makes a call meanwhile. The words announce data of another allocation.
static void words_are_polled(void)
{
    volatile uint32_t *words = allocate(4096, CU_MEMHOSTALLOC_DEVICEMAP);
    uint32_t *data = allocate(SIZE, 0), turns = 0, wrong = 0;
    CUdeviceptr asked = (CUdeviceptr)(uintptr_t)words, answered = asked + 2048;
    memset(data, 0, SIZE);
    for (uint32_t turn = 1; turn <= 5; turn++) {
        words[0] = 0;
        launch(kernel(&gpu, "wait_flag"), 1, 1, stream, &asked);
        add_to((CUdeviceptr)(uintptr_t)data, turn, WORDS);
        launch(kernel(&gpu, "poke"), 1, 1, stream, &answered, &turn);
        for (uint32_t i = 0; i < WORDS; i++)
            data[i] = 1000 * turn + i;
        __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
        turns += comes(&words[512], turn);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        wrong += wrong_words(data, WORDS, 1001 * turn, 1);
        CHECK(cuStreamSynchronize(stream));
    }
    is_int(turns, 5, "kernels see a word that the host writes, and the host sees theirs");
    is_int(wrong, 0, "the data that the words announce have come before them");
    CHECK(cuMemFreeHost((void *)words));
    CHECK(cuMemFreeHost(data));
}

// A stream waits for a word and writes one, named by the program's addresses.
static void words_of_streams(void)
{
    volatile uint32_t *words = allocate(4096, CU_MEMHOSTALLOC_PORTABLE);
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)words;
    if (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS)) {
        skip(2, "streams of this device wait for no words");
        CHECK(cuMemFreeHost((void *)words));
        return;
    }
    CUstreamBatchMemOpParams both[2] = {
        {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                       .address = address + 8,
                       .value = 2}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                        .address = address + 12,
                        .value = 9}},
    };
    words[0] = words[1] = words[2] = words[3] = 0;
    CHECK(cuStreamWaitValue32_v2(stream, address, 1, CU_STREAM_WAIT_VALUE_EQ));
    CHECK(cuStreamWriteValue32_v2(stream, address + 4, 7, 0));
    words[0] = 1;
    ok(comes(&words[1], 7), "a stream waits for a word of the host and writes another");
    CHECK(cuStreamBatchMemOp_v2(stream, 2, both, 0));
    words[2] = 2;
    ok(comes(&words[3], 9), "so do operations of one call");
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemFreeHost((void *)words));
}

// Staging buffers of copies, in flight when the first kernel gets them.
static void copies_in_flight(void)
{
    uint32_t *words = allocate(SIZE, CU_MEMHOSTALLOC_PORTABLE), *back = must_alloc(SIZE);
    CUdeviceptr data = device_alloc(SIZE), other = device_alloc(SIZE);
    number(words, WORDS);
    CHECK(cuMemcpyHtoDAsync(data, words, SIZE, stream));
    CHECK(cuStreamSynchronize(stream));
    memset(words, 0, SIZE);
    add_to(data, 10, WORDS);
    CHECK(cuMemcpyDtoHAsync(words, data, SIZE, stream));
    CHECK(cuMemcpyHtoDAsync(other, words, SIZE, stream));
    add_to((CUdeviceptr)(uintptr_t)words, 100, WORDS);
    CHECK(cuMemcpyHtoDAsync(data, words, SIZE, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(words, WORDS, 110, 1), 0, "a kernel finds what a copy before it brings");
    CHECK(cuMemcpyDtoH(back, other, SIZE));
    is_int(wrong_words(back, WORDS, 10, 1), 0, "a copy before it takes what was there");
    CHECK(cuMemcpyDtoH(back, data, SIZE));
    is_int(wrong_words(back, WORDS, 110, 1), 0, "and one after it what it has written");
    CHECK(cuMemFree(data));
    CHECK(cuMemFree(other));
    CHECK(cuMemFreeHost(words));
    free(back);
}

// The kernel of the operating system writes to it and reads it, whatever the GPU did before.
static void system_calls(void)
{
    uint32_t *words = allocate(SIZE, CU_MEMHOSTALLOC_DEVICEMAP), some[1024];
    int ends[2];
    if (pipe(ends))
        bail("no pipe");
    number(some, 1024);
    add_to((CUdeviceptr)(uintptr_t)words, 1, WORDS);
    CHECK(cuStreamSynchronize(stream));
    ok(write(ends[1], some, sizeof(some)) == (ssize_t)sizeof(some) &&
           read(ends[0], words, sizeof(some)) == (ssize_t)sizeof(some),
       "a system call writes to it");
    add_to((CUdeviceptr)(uintptr_t)words, 1, 1024);
    CHECK(cuStreamSynchronize(stream));
    ok(write(ends[1], words, sizeof(some)) == (ssize_t)sizeof(some) &&
           read(ends[0], some, sizeof(some)) == (ssize_t)sizeof(some),
       "another reads it");
    is_int(wrong_words(some, 1024, 1, 1), 0, "after a kernel that has used what the first wrote");
    close(ends[0]);
    close(ends[1]);
    CHECK(cuMemFreeHost(words));
}

static void graphs(void)
{
    uint32_t *words = allocate(4096, 0), one = 1, count = 1024;
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)words;
    void *parameters[] = {&address, &one, &count};
    CUDA_KERNEL_NODE_PARAMS node = {.func = kernel(&gpu, "add"),
                                    .gridDimX = 4,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 256,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = parameters};
    CUgraph graph;
    CUgraphNode made;
    CUgraphExec exec;
    number(words, count);
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&made, graph, NULL, 0, &node));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(words, count, 2, 1), 0, "the node of a graph uses it");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    uint32_t *captured = allocate(SIZE, 0);
    number(captured, count);
    memset(captured + count, 1, 4096);
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuMemsetD32Async((CUdeviceptr)(uintptr_t)(captured + count), 8, count, stream));
    add_to((CUdeviceptr)(uintptr_t)captured, 5, count);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(captured, count, 5, 1), 0, "so does a launch that is captured");
    is_int(wrong_words(captured + count, count, 8, 0), 0, "and a fill");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFreeHost(words));
    CHECK(cuMemFreeHost(captured));
}

static CUgraphNode copy_node(CUgraph graph, const CUgraphNode *after, void *to, CUdeviceptr to_gpu,
                             void *from, CUdeviceptr from_gpu, size_t size)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = from ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                          .srcHost = from,
                          .srcDevice = from_gpu,
                          .dstMemoryType = to ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                          .dstHost = to,
                          .dstDevice = to_gpu,
                          .WidthInBytes = size,
                          .Height = 1,
                          .Depth = 1};
    CUgraphNode made;
    CHECK(cuGraphAddMemcpyNode(&made, graph, after, after ? 1 : 0, &copy, gpu.context));
    return made;
}

// The copies become nodes after the kernel, which is what gives the GPU the memory.
static void copies_of_graphs(void)
{
    uint32_t *words = allocate(4096, 0), back[1024], seven = 7, count = 1024;
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)words, in = device_alloc(4096),
                out = device_alloc(4096);
    void *parameters[] = {&address, &seven, &count};
    CUDA_KERNEL_NODE_PARAMS node = {.func = kernel(&gpu, "add"),
                                    .gridDimX = 4,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 256,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = parameters};
    CUgraph graph;
    CUgraphNode first, second;
    CUgraphExec exec;
    number(back, count);
    CHECK(cuMemcpyHtoD(in, back, 4096));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&second, graph, NULL, 0, &node));
    first = copy_node(graph, NULL, words, 0, NULL, in, 4096);
    (void)copy_node(graph, &second, NULL, out, words, 0, 4096);
    CHECK(cuGraphAddDependencies(graph, &first, &second, 1));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(words, count, 7, 1), 0,
           "the kernel of a graph finds what a node has copied");
    CHECK(cuMemcpyDtoH(back, out, 4096));
    is_int(wrong_words(back, count, 7, 1), 0, "and a node copies what the kernel has written");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(in));
    CHECK(cuMemFree(out));
    CHECK(cuMemFreeHost(words));
}

enum register_way { BY_ADDRESS, BY_ATTRIBUTE, BY_POINTER, WAYS };
static const char *const way_names[] = {"its address", "the pointer among its attributes",
                                        "its pointer for the device"};

static CUdeviceptr device_pointer(void *memory, enum register_way way)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)memory;
    if (way == BY_ATTRIBUTE)
        CHECK(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address));
    if (way == BY_POINTER)
        CHECK(cuMemHostGetDevicePointer(&address, memory, 0));
    return address;
}

// Memory of malloc, whose neighbours in the first and the last page are the program's as well.
static void registered(unsigned int flags, enum register_way way)
{
    uint32_t *heap = must_alloc(SIZE + 8192), *words = heap + 30, wrong = 0;
    memset(heap, 9, SIZE + 8192);
    number(words, WORDS);
    gives(cuMemHostRegister(words, SIZE, flags), CUDA_SUCCESS, "memory of malloc is registered");
    add_to(device_pointer(words, way), 3, WORDS);
    for (uint32_t *beside = words + WORDS; beside < words + WORDS + 100; beside++)
        (*beside)++;
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(words, WORDS, 3, 1), 0, "a kernel uses it by %s", way_names[way]);
    add_to(device_pointer(words + 5, way), 1, 1);
    CHECK(cuStreamSynchronize(stream));
    is_int(words[5], 5 + 3 + 1, "and from within");
    for (uint32_t i = 0; i < 130; i++)
        wrong += i < 30 ? heap[i] != 0x09090909 : words[WORDS + i - 30] != 0x0909090a;
    is_int(wrong, 0, "what lies beside it is the program's alone");
    gives(cuMemHostUnregister(words), CUDA_SUCCESS, "it is unregistered");
    is_int(wrong_words(words + 6, WORDS - 6, 9, 1), 0, "and keeps what is in it");
    free(heap);
}

static void registered_is_copied(void)
{
    uint32_t *words = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr data = device_alloc(SIZE);
    if (words == MAP_FAILED)
        bail("no memory");
    number(words, WORDS);
    CHECK(cuMemHostRegister(words, SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
    CUdeviceptr address = device_pointer(words, BY_POINTER);
    add_to(address, 1, WORDS);
    CHECK(cuMemcpyHtoDAsync(data, words, SIZE, stream));
    add_to(data, 1, WORDS);
    CHECK(cuMemcpyDtoHAsync(words, data, SIZE, stream));
    add_to(address, 1, WORDS);
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(words, WORDS, 3, 1), 0, "copies and kernels use registered memory by turns");
    CHECK(cuMemHostUnregister(words));
    add_to(data, 10, WORDS);
    CHECK(cuMemcpyDtoHAsync(words, data, SIZE, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(wrong_words(words, WORDS, 12, 1), 0, "it can be copied to when it is unregistered");
    CHECK(cuMemFree(data));
    munmap(words, SIZE);
}

// The memory has what a kernel wrote when its context has ended.
static void context_that_ends(void)
{
    uint32_t *heap = must_alloc(4096);
    CUcontext context;
    CUmodule module;
    CUfunction add;
    CUdeviceptr address;
    uint32_t five = 5, count = 1024;
    number(heap, count);
    CHECK(cuCtxCreate_v2(&context, 0, gpu.device));
    CHECK(cuModuleLoadData(&module, kernels_ptx));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuMemHostRegister(heap, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&address, heap, 0));
    launch(add, 4, 256, NULL, &address, &five, &count);
    CHECK(cuCtxDestroy(context));
    is_int(wrong_words(heap, count, 5, 1), 0, "a kernel whose context ends has written");
    CHECK(cuCtxSetCurrent(gpu.context));
    free(heap);
}

static void attributes(void)
{
    uint32_t *words = allocate(4096, 0);
    CUdeviceptr address = 0;
    unsigned int mapped = 0;
    CHECK(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                (CUdeviceptr)(uintptr_t)(words + 5)));
    ok(address == (CUdeviceptr)(uintptr_t)(words + 5), "the GPU's address is the program's");
    CHECK(
        cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, (CUdeviceptr)(uintptr_t)words));
    is_int(mapped, 1, "the memory is mapped, as far as its attributes say");
    CHECK(cuMemFreeHost(words));
}

int main(void)
{
    gpu = open_gpu(0);
    if (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY))
        skip_all("the device maps no host memory");
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    attributes();
    address_as_parameter(0);
    address_as_parameter(CU_MEMHOSTALLOC_DEVICEMAP);
    packed_parameters();
    small_pieces();
    counter();
    semaphore();
    words_are_polled();
    words_of_streams();
    copies_in_flight();
    system_calls();
    graphs();
    copies_of_graphs();
    for (int way = 0; way < WAYS; way++) {
        registered(0, (enum register_way)way);
        registered(CU_MEMHOSTREGISTER_DEVICEMAP, (enum register_way)way);
    }
    registered_is_copied();
    context_that_ends();
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
