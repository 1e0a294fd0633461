// SPDX-License-Identifier: BSD-3-Clause
#include "tests/errors/arguments.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/errors/fixture.h"

// Every parameter has memory of its own, ended by a page that cannot be touched.
enum { ROOM = 1 << 16, PAGE = 1 << 12 };
static char *room[PARAMETERS_MAX];
static char *garbage; // memory that no library knows, full of zeros in its first half
static char *registrable;

static char *map(size_t size)
{
    char *memory =
        mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + size, PAGE, PROT_NONE);
    return memory;
}

void arguments_prepare(void)
{
    for (unsigned i = 0; i < PARAMETERS_MAX; i++)
        room[i] = map(ROOM);
    garbage = map(ROOM);
    registrable = map(ROOM);
}

static void ignore(void *argument)
{
}

// ---- what structures have to say ----

static void fill_copy_2d(void *memory)
{
    *(CUDA_MEMCPY2D *)memory = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                               .srcDevice = fixture_memory(GOOD),
                                               .srcPitch = 64,
                                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                               .dstDevice = fixture_memory(GOOD) + 65536,
                                               .dstPitch = 64,
                                               .WidthInBytes = 16,
                                               .Height = 2};
}

static void fill_copy_3d(void *memory)
{
    *(CUDA_MEMCPY3D *)memory = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                               .srcDevice = fixture_memory(GOOD),
                                               .srcPitch = 64,
                                               .srcHeight = 2,
                                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                               .dstDevice = fixture_memory(GOOD) + 65536,
                                               .dstPitch = 64,
                                               .dstHeight = 2,
                                               .WidthInBytes = 16,
                                               .Height = 2,
                                               .Depth = 1};
}

static void fill_copy_peer(void *memory)
{
    *(CUDA_MEMCPY3D_PEER *)memory =
        (CUDA_MEMCPY3D_PEER){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                             .srcDevice = fixture_memory(GOOD),
                             .srcPitch = 64,
                             .srcHeight = 2,
                             .srcContext = (CUcontext)fixture_handle("CUcontext", "", GOOD),
                             .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                             .dstDevice = fixture_memory(GOOD) + 65536,
                             .dstPitch = 64,
                             .dstHeight = 2,
                             .dstContext = (CUcontext)fixture_handle("CUcontext", "", GOOD),
                             .WidthInBytes = 16,
                             .Height = 2,
                             .Depth = 1};
}

static void fill_launch(void *memory)
{
    *(CUlaunchConfig *)memory = (CUlaunchConfig){1, 1, 1, 1, 1, 1, .attrs = (void *)garbage};
}

static void fill_kernel_node(void *memory)
{
    *(CUDA_KERNEL_NODE_PARAMS *)memory =
        (CUDA_KERNEL_NODE_PARAMS){(CUfunction)fixture_handle("CUfunction", "", GOOD),
                                  1,
                                  1,
                                  1,
                                  1,
                                  1,
                                  1,
                                  0,
                                  NULL,
                                  NULL,
                                  NULL,
                                  NULL};
}

static void fill_memset_node(void *memory)
{
    *(CUDA_MEMSET_NODE_PARAMS *)memory = (CUDA_MEMSET_NODE_PARAMS){
        .dst = fixture_memory(GOOD), .elementSize = 4, .width = 1, .height = 1};
}

static void fill_host_node(void *memory)
{
    *(CUDA_HOST_NODE_PARAMS *)memory = (CUDA_HOST_NODE_PARAMS){.fn = ignore};
}

static void fill_event_node(void *memory)
{
    *(CUgraphNodeParams *)memory = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_EMPTY};
}

static void fill_allocation_node(void *memory)
{
    *(CUDA_MEM_ALLOC_NODE_PARAMS *)memory =
        (CUDA_MEM_ALLOC_NODE_PARAMS){.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                   .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                     .bytesize = 4096};
}

static void fill_operation(void *memory)
{
    *(CUstreamBatchMemOpParams *)memory =
        (CUstreamBatchMemOpParams){.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                  .address = fixture_memory(GOOD) + 4096}};
}

static void fill_location(void *memory)
{
    *(CUmemLocation *)memory = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0};
}

static void fill_access(void *memory)
{
    *(CUmemAccessDesc *)memory =
        (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

static void fill_allocation(void *memory)
{
    *(CUmemAllocationProp *)memory =
        (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
}

static void fill_pool(void *memory)
{
    *(CUmemPoolProps *)memory = (CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
}

static void fill_multicast(void *memory)
{
    *(CUmulticastObjectProp *)memory = (CUmulticastObjectProp){.numDevices = 1, .size = 2 << 20};
}

static void fill_array(void *memory)
{
    *(CUDA_ARRAY_DESCRIPTOR *)memory = (CUDA_ARRAY_DESCRIPTOR){64, 64, CU_AD_FORMAT_FLOAT, 1};
}

static void fill_array_3d(void *memory)
{
    *(CUDA_ARRAY3D_DESCRIPTOR *)memory =
        (CUDA_ARRAY3D_DESCRIPTOR){64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
}

static void fill_resource(void *memory)
{
    *(CUDA_RESOURCE_DESC *)memory = (CUDA_RESOURCE_DESC){
        .resType = CU_RESOURCE_TYPE_ARRAY,
        .res = {.array = {.hArray = (CUarray)fixture_handle("CUarray", "", GOOD)}}};
}

static void fill_copy_attributes(void *memory)
{
    *(CUmemcpyAttributes *)memory =
        (CUmemcpyAttributes){.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
}

static void fill_operation_node(void *memory)
{
    *(CUDA_BATCH_MEM_OP_NODE_PARAMS *)memory =
        (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = (CUcontext)fixture_handle("CUcontext", "", GOOD),
                                        .count = 1,
                                        .paramArray = (void *)((char *)memory + 1024)};
    fill_operation((char *)memory + 1024);
}

static CUmemcpy3DOperand operand(CUdeviceptr address)
{
    return (CUmemcpy3DOperand){.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                               .op = {.ptr = {.ptr = address, .rowLength = 64, .layerHeight = 2}}};
}

static void fill_batch_copy(void *memory)
{
    *(CUDA_MEMCPY3D_BATCH_OP *)memory =
        (CUDA_MEMCPY3D_BATCH_OP){.src = operand(fixture_memory(GOOD)),
                                 .dst = operand(fixture_memory(GOOD) + 65536),
                                 .extent = {16, 2, 1},
                                 .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
}

static void fill_device_resource(void *memory)
{
    DRIVER(cuDeviceGetDevResource, 0, memory, CU_DEV_RESOURCE_TYPE_SM);
}

static const struct filler {
    const char *type;
    void (*fill)(void *memory);
} fillers[] = {
    {"CUDA_MEMCPY2D", fill_copy_2d},
    {"CUDA_MEMCPY3D", fill_copy_3d},
    {"CUDA_MEMCPY3D_PEER", fill_copy_peer},
    {"CUlaunchConfig", fill_launch},
    {"CUDA_KERNEL_NODE_PARAMS", fill_kernel_node},
    {"CUDA_KERNEL_NODE_PARAMS_v1", fill_kernel_node},
    {"CUDA_MEMSET_NODE_PARAMS", fill_memset_node},
    {"CUDA_HOST_NODE_PARAMS", fill_host_node},
    {"CUgraphNodeParams", fill_event_node},
    {"CUDA_MEM_ALLOC_NODE_PARAMS", fill_allocation_node},
    {"CUstreamBatchMemOpParams", fill_operation},
    {"CUmemLocation", fill_location},
    {"CUmemAccessDesc", fill_access},
    {"CUmemAllocationProp", fill_allocation},
    {"CUmemPoolProps", fill_pool},
    {"CUmulticastObjectProp", fill_multicast},
    {"CUDA_ARRAY_DESCRIPTOR", fill_array},
    {"CUDA_ARRAY3D_DESCRIPTOR", fill_array_3d},
    {"CUDA_RESOURCE_DESC", fill_resource},
    {"CUmemcpyAttributes", fill_copy_attributes},
    {"CUDA_BATCH_MEM_OP_NODE_PARAMS", fill_operation_node},
    {"CUDA_MEMCPY3D_BATCH_OP", fill_batch_copy},
    {"CUdevResource", fill_device_resource},
    {"CUctxCreateParams", NULL},
};

static const struct filler *filler_of(const struct parameter *p)
{
    for (unsigned i = 0; p->pointers == 1 && i < sizeof fillers / sizeof *fillers; i++)
        if (!strcmp(fillers[i].type, p->base))
            return &fillers[i];
    return NULL;
}

// ---- numbers by the names of their parameters ----

static uint64_t number(const struct call *call, const struct parameter *p)
{
    static const struct {
        const char *call, *parameter;
        uint64_t value;
    } rows[] = {
        {"cuMemAllocPitch", "ElementSizeBytes", 4},
        {"cuMemAddressReserve", "size", 2 << 20},
        {"cuMemCreate", "size", 2 << 20},
        {"cuCtxSetLimit", "value", 4096},
        {"cuTensorMap", "tensorRank", 2},
        {"cuDevSmResourceSplit", "minCount", 8},
        {"cuGetProcAddress", "cudaVersion", 12000},
        {"cuCheckpoint", "pid", 0x3fffffff},
        {"cuGreenCtxCreate", "flags", CU_GREEN_CTX_DEFAULT_STREAM},
        {"cuMemAllocManaged", "flags", CU_MEM_ATTACH_GLOBAL},
        {"", "bytesize", 64},
        {"", "ByteCount", 64},
        {"", "sizeInBytes", 64},
        {"", "size", 64},
        {"", "length", 64},
        {"", "len", 64},
        {"", "dataSize", 4},
        {"", "bufferSize", 64},
        {"", "dstPitch", 64},
        {"", "Pitch", 64},
        {"", "Width", 16},
        {"", "WidthInBytes", 16},
        {"", "blockSize", 32},
        {"", "numOptions", 0},
        {"", "numJitOptions", 0},
        {"", "numLibraryOptions", 0},
        {"", "numDependencies", 0},
        {"", "numParams", 0},
        {"", "sharedMemBytes", 0},
        {"", "dynamicSMemSize", 0},
        {"", "srcOffset", 0},
        {"", "dstOffset", 0},
        {"", "offset", 0},
        {"", "ordinal", 0},
        {"", "paramIndex", 0},
        {"", "alignment", 0},
        {"", "priority", 0},
        {"", "value", 0},
        {"", "level", 0},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strncmp(call->name, rows[i].call, strlen(rows[i].call)) &&
            !strcmp(p->name, rows[i].parameter))
            return rows[i].value;
    return strcasestr(p->name, "flags") ? 0 : 1;
}

static uint64_t enumeration(const struct call *call, const struct parameter *p)
{
    static const struct {
        const char *type;
        uint64_t value;
    } rows[] = {
        {"CUarray_format", CU_AD_FORMAT_FLOAT},
        {"CUjitInputType", CU_JIT_INPUT_PTX},
        {"CUmem_advise", 1},
        {"CUdevResourceType", CU_DEV_RESOURCE_TYPE_SM},
        {"CUmemAllocationType", 1},
        {"CUmemAllocationHandleType", 1},
        {"CUmemRangeHandleType", 1},
        {"CUdevice_attribute", 1},
        {"CUdevice_P2PAttribute", 1},
        {"CUpointer_attribute", CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
        {"CUmem_range_attribute", 1},
        {"CUmemPool_attribute", CU_MEMPOOL_ATTR_RELEASE_THRESHOLD},
        {"CUcoredumpSettings", 1},
        {"CUfunction_attribute", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
        {"CUstreamAttrID", CU_LAUNCH_ATTRIBUTE_PRIORITY},
        {"CUkernelNodeAttrID", CU_LAUNCH_ATTRIBUTE_PRIORITY},
        {"CUflushGPUDirectRDMAWritesScope", 100},
        {"CUtensorMapDataType", CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(p->base, rows[i].type))
            return strcmp(call->name, "cuPointerSetAttribute") ? rows[i].value
                                                               : CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
    return 0;
}

// ---- what pointers lead to ----

static void fill_words(void *memory, const char *name)
{
    static const struct {
        const char *name;
        cuuint64_t first, second;
    } rows[] = {{"globalDim", 64, 64}, {"globalStrides", 256, 0}, {"sizes", 64, 64}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(name, rows[i].name))
            memcpy(memory, &rows[i].first, 16);
    if (!strcmp(name, "boxDim"))
        memcpy(memory, (cuuint32_t[2]){16, 16}, 8);
    if (!strcmp(name, "elementStrides"))
        memcpy(memory, (cuuint32_t[2]){1, 1}, 8);
    if (!strcmp(name, "attributes"))
        memcpy(memory, (unsigned[1]){CU_POINTER_ATTRIBUTE_MEMORY_TYPE}, 4);
    if (!strcmp(name, "nbGroups"))
        memcpy(memory, (unsigned[1]){1}, 4);
}

static const char *text_for(const struct call *call, const char *name)
{
    if (!strcmp(name, "symbol") && strstr(call->name, "ProcAddress"))
        return "cuInit";
    if (!strcmp(name, "pciBusId"))
        return "0000:ff:1f.7";
    if (strstr(call->name, "GetGlobal") || strstr(call->name, "GetManaged"))
        return "counter";
    return "empty";
}

static bool is_text(const struct call *call, const struct parameter *p)
{
    return !strcmp(p->base, "char") && p->pointers == 1 &&
           (!strcmp(p->name, "name") || !strcmp(p->name, "symbol") || !strcmp(p->name, "pciBusId"));
}

static uint64_t pointer(const struct call *call, unsigned index)
{
    const struct parameter *p = &call->parameters[index];
    char *memory = room[index];
    const struct filler *filler = filler_of(p);
    if (!strcmp(p->base, "void") && p->pointers == 1) {
        if (!strcmp(p->name, "image") || !strcmp(p->name, "code") || !strcmp(p->name, "fatCubin"))
            return (uintptr_t)fixture_image();
        if (strstr(call->name, "LinkAddData") && !strcmp(p->name, "data"))
            return (uintptr_t)fixture_image();
        if (strstr(call->name, "HostRegister"))
            return (uintptr_t)registrable;
        if (!strncmp(call->name, "cuMemHost", 9) || !strcmp(call->name, "cuMemFreeHost"))
            return (uintptr_t)fixture_pinned();
        if (!strcmp(p->name, "globalAddress"))
            return fixture_memory(GOOD);
    }
    if (!strcmp(p->name, "extra"))
        return 0;
    if (is_text(call, p))
        strcpy(memory, text_for(call, p->name));
    else if (!strcmp(p->base, "char") && strcmp(p->name, "name"))
        strcpy(memory, "/nonexistent/file");
    else if (!strcmp(p->base, "CUdeviceptr") && p->pointers == 1 &&
             call->parameters[index].name[0] &&
             (!strcmp(p->name, "dsts") || !strcmp(p->name, "srcs") || !strcmp(p->name, "dptrs")))
        *(CUdeviceptr *)(void *)memory = fixture_memory(GOOD) + 4096 * index;
    else if (filler && filler->fill)
        filler->fill(memory);
    else if (!strcmp(p->name, "data") && p->pointers == 2)
        *(void **)(void *)memory = garbage + ROOM / 2;
    else
        fill_words(memory, p->name);
    return (uintptr_t)memory;
}

static uint64_t structure(const struct parameter *p, unsigned index)
{
    if (!strcmp(p->base, "CUmemLocation"))
        fill_location(room[index]);
    return (uintptr_t)room[index];
}

static uint64_t function_for(const struct parameter *p)
{
    return strcmp(p->base, "CUoccupancyB2DSize") ? (uintptr_t)ignore : 0;
}

void arguments_right(const struct call *call, union argument *arguments)
{
    for (unsigned i = 0; i < call->count; i++) {
        const struct parameter *p = &call->parameters[i];
        memset(room[i], 0, ROOM);
        arguments[i].word = 0;
        switch (p->kind) {
        case NUMBER: arguments[i].word = number(call, p); break;
        case REAL: arguments[i].real = 0; break;
        case ENUMERATION: arguments[i].word = enumeration(call, p); break;
        case HANDLE: arguments[i].word = fixture_handle(p->base, call->name, GOOD); break;
        case ADDRESS: arguments[i].word = fixture_memory(GOOD) + 65536 * i; break;
        case DEVICE: break;
        case POINTER: arguments[i].word = pointer(call, i); break;
        case FUNCTION: arguments[i].word = function_for(p); break;
        case STRUCTURE: arguments[i].word = structure(p, i); break;
        }
        if (!strcmp(p->name, "childGraph"))
            arguments[i].word = (uintptr_t)fixture_child_graph();
        if (p->kind == HANDLE && !arguments[i].word)
            arguments[i].word = (uintptr_t)garbage;
    }
    // Calls that free or look up memory are given where it begins.
    if (call->count && call->parameters[call->count - 1].kind == ADDRESS && call->count == 1)
        arguments[0].word = fixture_memory(GOOD);
}

// ---- ways to be wrong ----

static bool way(uint64_t *word, uint64_t value, const char **name, const char *called)
{
    *name = called;
    *word = value;
    return true;
}

static bool wrong_handle(const struct call *call, const struct parameter *p, unsigned which,
                         uint64_t *word, const char **name, bool *applies)
{
    switch (which) {
    case 0: return way(word, 0, name, "null");
    case 1: way(word, fixture_handle(p->base, call->name, STALE), name, "stale"); break;
    case 2: way(word, fixture_handle(p->base, call->name, FOREIGN), name, "foreign"); break;
    case 3: way(word, (uintptr_t)garbage, name, "garbage"); break;
    default: return false;
    }
    *applies = *word;
    return true;
}

static bool wrong_address(unsigned which, uint64_t *word, const char **name)
{
    switch (which) {
    case 0: return way(word, 0, name, "null");
    case 1: return way(word, fixture_memory(STALE), name, "stale");
    case 2: return way(word, fixture_memory(FOREIGN), name, "foreign");
    case 3: return way(word, (uintptr_t)garbage, name, "host");
    case 4: return way(word, 0xdead0000000, name, "wild");
    case 5: return way(word, fixture_memory(GOOD) + (1 << 20), name, "past");
    default: return false;
    }
}

// A wait for a value that never comes says nothing about the value.
static bool waits_for(const struct call *call, const struct parameter *p)
{
    return strstr(call->name, "WaitValue") && !strcmp(p->name, "value");
}

static bool wrong_number(const struct call *call, const struct parameter *p, unsigned which,
                         uint64_t *word, const char **name)
{
    switch (which) {
    case 0: return way(word, 0, name, "0");
    case 1: return way(word, p->size == 8 ? ~0ULL : (1ULL << 8 * p->size) - 1, name, "max");
    case 2: return !waits_for(call, p) && way(word, 3, name, "3");
    case 3: return way(word, 65536, name, "65536");
    default: return false;
    }
}

// Every value of the enumeration that there may be, one below and one far above.
static bool wrong_enumeration(unsigned which, uint64_t *word, const char **name)
{
    enum { VALUES = 26 };
    static char text[16];
    int64_t value = which == VALUES + 1 ? 9999 : (int64_t)which - 1;
    if (which > VALUES + 1)
        return false;
    snprintf(text, sizeof text, "%d", (int)value);
    *name = text;
    *word = (uint64_t)value;
    return true;
}

// Attributes of a launch: each with a value of zeros and one of ones.
static bool wrong_launch(unsigned which, CUlaunchConfig *config, const char **name)
{
    enum { IDS = 19 };
    static CUlaunchAttribute attribute;
    static char text[32];
    int id = (int)(which / 2) - 1;
    if (which >= 2 * IDS)
        return false;
    fill_launch(config);
    memset(&attribute.value, which % 2 ? 0xff : 0, sizeof attribute.value);
    attribute.id = (CUlaunchAttributeID)id;
    config->attrs = &attribute;
    config->numAttrs = 1;
    snprintf(text, sizeof text, "attribute%d-%s", id, which % 2 ? "ones" : "zeros");
    *name = text;
    return true;
}

// Kinds of memory, of which there are four.
static bool wrong_kinds(const char *type, unsigned which, char *memory, const char **name)
{
    static const struct {
        const char *type;
        size_t from, to;
    } rows[] = {
        {"CUDA_MEMCPY2D", offsetof(CUDA_MEMCPY2D, srcMemoryType),
         offsetof(CUDA_MEMCPY2D, dstMemoryType)},
        {"CUDA_MEMCPY3D", offsetof(CUDA_MEMCPY3D, srcMemoryType),
         offsetof(CUDA_MEMCPY3D, dstMemoryType)},
        {"CUDA_MEMCPY3D_PEER", offsetof(CUDA_MEMCPY3D_PEER, srcMemoryType),
         offsetof(CUDA_MEMCPY3D_PEER, dstMemoryType)},
    };
    static const unsigned kinds[] = {0, 3, 5, 9999};
    static char text[32];
    for (unsigned i = 0; i < 3 && which < 8; i++) {
        if (strcmp(rows[i].type, type))
            continue;
        memcpy(memory + (which % 2 ? rows[i].to : rows[i].from), &kinds[which / 2], 4);
        snprintf(text, sizeof text, "%s-kind%u", which % 2 ? "to" : "from", kinds[which / 2]);
        *name = text;
        return true;
    }
    return false;
}

static bool wrong_pointer(const struct parameter *p, unsigned index, unsigned which, uint64_t *word,
                          const char **name)
{
    const struct filler *filler = filler_of(p);
    if (which == 0)
        return way(word, 0, name, "null");
    if (!filler)
        return false;
    *word = (uintptr_t)room[index];
    if (which > 2 && !strcmp(p->base, "CUlaunchConfig"))
        return wrong_launch(which - 3, (void *)room[index], name);
    if (which > 2)
        return wrong_kinds(p->base, which - 3, room[index], name);
    *name = which == 1 ? "zeros" : "ones";
    memset(room[index], which == 1 ? 0 : 0xff, 512);
    return true;
}

bool arguments_wrong(const struct call *call, unsigned index, unsigned which,
                     union argument *arguments, const char **name, bool *applies)
{
    const struct parameter *p = &call->parameters[index];
    uint64_t *word = &arguments[index].word;
    *applies = true;
    switch (p->kind) {
    case NUMBER: return wrong_number(call, p, which, word, name);
    case REAL: return false;
    case ENUMERATION: return wrong_enumeration(which, word, name);
    case HANDLE: return wrong_handle(call, p, which, word, name, applies);
    case ADDRESS: return wrong_address(which, word, name);
    case DEVICE:
        return which < 2 && way(word, which ? 99 : (uint64_t)-1, name, which ? "99" : "-1");
    case POINTER: return wrong_pointer(p, index, which, word, name);
    case FUNCTION: return which < 1 && way(word, 0, name, "null");
    case STRUCTURE:
        if (which > 1)
            return false;
        memset(room[index], which ? 0xff : 0, 512);
        *name = which ? "ones" : "zeros";
        return true;
    }
    return false;
}
