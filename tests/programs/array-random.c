// SPDX-License-Identifier: BSD-3-Clause
// Random copies between arrays, levels of mipmapped arrays, linear memory and host memory, compared
// byte for byte with a model of all of them in this program. The seed and the number of rounds may
// be given.
#include "tests/programs/array_calls.h"

enum { ARRAYS = 4, LINEAR = 2, HOSTS = 3, PLACES = ARRAYS + LINEAR + HOSTS, COPIES = 12 };

enum kind { ARRAY, DEVICE, HOST };

// Anything that a copy can be of: slices of rows of bytes.
struct place {
    enum kind kind;
    CUarray array;
    CUmipmappedArray mipmap; // whose level the array is, if any
    CUdeviceptr device;
    unsigned char *host;
    bool pinned;
    size_t width, rows, slices;
    size_t pitch;         // of memory; an array's is its width
    unsigned char *model; // slices * rows * pitch
};

struct box {
    size_t x[2], y[2], z[2]; // in the destination, in the source
    size_t width, rows, slices;
};

static uint64_t seed;
static CUcontext context;
static CUstream stream;
static unsigned copies_made, refused, wrong_results, wrong_bytes;

static size_t below(size_t limit)
{
    return limit ? random_u32(&seed) % limit : 0;
}

static size_t size_of(const struct place *place)
{
    return place->slices * place->rows * place->pitch;
}

// ---- places ----

static const struct {
    CUarray_format format;
    unsigned bytes;
} formats[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 1},  {CU_AD_FORMAT_SIGNED_INT16, 2},
               {CU_AD_FORMAT_UNSIGNED_INT32, 4}, {CU_AD_FORMAT_HALF, 2},
               {CU_AD_FORMAT_FLOAT, 4},          {CU_AD_FORMAT_SIGNED_INT8, 1}};

static void random_descriptor(CUDA_ARRAY3D_DESCRIPTOR *d, size_t *element)
{
    size_t format = below(sizeof formats / sizeof *formats);
    bool large = below(16) == 0;
    *d = (CUDA_ARRAY3D_DESCRIPTOR){.Width = 1 + below(large ? 700 : 70),
                                   .Format = formats[format].format,
                                   .NumChannels = 1u << below(3),
                                   .Flags = below(4) ? 0 : CUDA_ARRAY3D_SURFACE_LDST};
    *element = formats[format].bytes * d->NumChannels;
    size_t height = 1 + below(large ? 300 : 24);
    switch (below(6)) {
    case 0: break; // one dimension
    case 1: d->Height = height; break;
    case 2:
        d->Height = height;
        d->Depth = 1 + below(7);
        break;
    case 3:
        d->Depth = 1 + below(7);
        d->Flags |= CUDA_ARRAY3D_LAYERED;
        break;
    case 4:
        d->Height = height;
        d->Depth = 1 + below(7);
        d->Flags |= CUDA_ARRAY3D_LAYERED;
        break;
    case 5:
        d->Height = d->Width = 1 + below(40);
        d->Depth = below(2) ? 6 : 12;
        d->Flags |= CUDA_ARRAY3D_CUBEMAP | (d->Depth > 6 ? CUDA_ARRAY3D_LAYERED : 0);
        break;
    }
}

static void make_array_place(struct place *place)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    size_t element;
    random_descriptor(&d, &element);
    place->kind = ARRAY;
    if (below(4)) {
        CHECK(cuArray3DCreate(&place->array, &d));
    } else {
        unsigned level = below(3);
        CHECK(cuMipmappedArrayCreate(&place->mipmap, &d, 1 + below(4)));
        if (cuMipmappedArrayGetLevel(&place->array, place->mipmap, level))
            CHECK(cuMipmappedArrayGetLevel(&place->array, place->mipmap, 0));
    }
    CHECK(cuArray3DGetDescriptor(&d, place->array));
    place->pitch = place->width = d.Width * element;
    place->rows = d.Height ? d.Height : 1;
    place->slices = d.Depth ? d.Depth : 1;
}

static void make_memory_place(struct place *place, enum kind kind)
{
    bool large = below(16) == 0;
    place->kind = kind;
    place->width = 1 + below(large ? 9000 : 900);
    place->rows = 1 + below(large ? 300 : 24);
    place->slices = 1 + below(9);
    place->pitch = place->width + below(40);
    place->pinned = kind == HOST && below(2);
    if (kind == DEVICE)
        place->device = device_alloc(size_of(place));
    else if (place->pinned)
        CHECK(cuMemAllocHost((void **)&place->host, size_of(place)));
    else
        place->host = must_alloc(size_of(place));
}

static void describe(CUDA_MEMCPY3D *copy, const struct place *to, const struct place *from,
                     const struct box *box)
{
    static const CUmemorytype types[] = {CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE,
                                         CU_MEMORYTYPE_HOST};
    *copy = (CUDA_MEMCPY3D){.srcMemoryType = types[from->kind],
                            .srcXInBytes = box->x[1],
                            .srcY = box->y[1],
                            .srcZ = box->z[1],
                            .srcHost = from->host,
                            .srcDevice = from->device,
                            .srcArray = from->array,
                            .srcPitch = from->pitch,
                            .srcHeight = from->rows,
                            .dstMemoryType = types[to->kind],
                            .dstXInBytes = box->x[0],
                            .dstY = box->y[0],
                            .dstZ = box->z[0],
                            .dstHost = to->host,
                            .dstDevice = to->device,
                            .dstArray = to->array,
                            .dstPitch = to->pitch,
                            .dstHeight = to->rows,
                            .WidthInBytes = box->width,
                            .Height = box->rows,
                            .Depth = box->slices};
}

// A place and a piece of host memory with the same bytes in all of it.
static struct place like(const struct place *place, unsigned char *host)
{
    struct place copy = *place;
    copy.kind = HOST;
    copy.host = host;
    return copy;
}

static void fill(struct place *place)
{
    CUDA_MEMCPY3D copy;
    size_t size = size_of(place);
    place->model = must_alloc(size);
    fill_random(place->model, size, random_u32(&seed));
    struct place source = like(place, place->model);
    struct box all = {{0}, {0}, {0}, place->width, place->rows, place->slices};
    if (place->kind == HOST) {
        memcpy(place->host, place->model, size);
    } else if (place->kind == DEVICE) {
        CHECK(cuMemcpyHtoD(place->device, place->model, size));
    } else {
        describe(&copy, place, &source, &all);
        CHECK(cuMemcpy3D(&copy));
    }
}

static void look(const struct place *place, unsigned index)
{
    CUDA_MEMCPY3D copy;
    size_t size = size_of(place), differ = 0;
    unsigned char *back = must_alloc(size), *now = back;
    struct place destination = like(place, back);
    struct box all = {{0}, {0}, {0}, place->width, place->rows, place->slices};
    if (place->kind == HOST) {
        now = place->host;
    } else if (place->kind == DEVICE) {
        CHECK(cuMemcpyDtoH(back, place->device, size));
    } else {
        describe(&copy, &destination, place, &all);
        CHECK(cuMemcpy3D(&copy));
    }
    for (size_t i = 0; i < size; i++)
        differ += now[i] != place->model[i];
    if (differ && wrong_bytes == 0)
        diag("place %u of kind %d, %zux%zux%zu: %zu bytes differ", index, place->kind, place->width,
             place->rows, place->slices, differ);
    wrong_bytes += differ;
    free(back);
}

static void drop(struct place *place)
{
    if (place->mipmap)
        CHECK(cuMipmappedArrayDestroy(place->mipmap));
    else if (place->kind == ARRAY)
        CHECK(cuArrayDestroy(place->array));
    else if (place->kind == DEVICE)
        CHECK(cuMemFree(place->device));
    else if (place->pinned)
        CHECK(cuMemFreeHost(place->host));
    else
        free(place->host);
    free(place->model);
}

// ---- copies ----

static size_t smallest(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Layers of lines come from memory, and go to it, row by row there whatever its height is said to
// be (seen on an H100). So there is one layer at a time where that matters.
static bool layers_of_lines(const struct place *array, const struct place *memory)
{
    return array->kind == ARRAY && memory->kind != ARRAY && array->rows == 1 && memory->rows > 1;
}

static void random_box(const struct place *to, const struct place *from, struct box *box)
{
    const struct place *places[2] = {to, from};
    box->width = 1 + below(smallest(to->width, from->width));
    box->rows = 1 + below(smallest(to->rows, from->rows));
    box->slices = 1 + below(smallest(to->slices, from->slices));
    if (layers_of_lines(to, from) || layers_of_lines(from, to))
        box->slices = 1;
    for (int i = 0; i < 2; i++) {
        box->x[i] = below(places[i]->width - box->width + 1);
        box->y[i] = below(places[i]->rows - box->rows + 1);
        box->z[i] = below(places[i]->slices - box->slices + 1);
    }
}

static void change_model(struct place *to, const struct place *from, const struct box *box)
{
    for (size_t z = 0; z < box->slices; z++)
        for (size_t y = 0; y < box->rows; y++)
            memmove(to->model + ((box->z[0] + z) * to->rows + box->y[0] + y) * to->pitch +
                        box->x[0],
                    from->model + ((box->z[1] + z) * from->rows + box->y[1] + y) * from->pitch +
                        box->x[1],
                    box->width);
}

// The same copy between contexts, which are one here.
static CUresult copy_as_peers(const CUDA_MEMCPY3D *copy, bool async)
{
    CUDA_MEMCPY3D_PEER peer;
    memcpy(&peer, copy, sizeof peer);
    peer.srcContext = peer.dstContext = context;
    return async ? cuMemcpy3DPeerAsync(&peer, stream) : cuMemcpy3DPeer(&peer);
}

static CUresult copy_flat(const CUDA_MEMCPY3D *c, bool async)
{
    CUDA_MEMCPY2D flat = {.srcXInBytes = c->srcXInBytes,
                          .srcY = c->srcY,
                          .srcMemoryType = c->srcMemoryType,
                          .srcHost = c->srcHost,
                          .srcDevice = c->srcDevice,
                          .srcArray = c->srcArray,
                          .srcPitch = c->srcPitch,
                          .dstXInBytes = c->dstXInBytes,
                          .dstY = c->dstY,
                          .dstMemoryType = c->dstMemoryType,
                          .dstHost = c->dstHost,
                          .dstDevice = c->dstDevice,
                          .dstArray = c->dstArray,
                          .dstPitch = c->dstPitch,
                          .WidthInBytes = c->WidthInBytes,
                          .Height = c->Height};
    if (async)
        return cuMemcpy2DAsync(&flat, stream);
    return below(2) ? cuMemcpy2D(&flat) : cuMemcpy2DUnaligned(&flat);
}

// A row of bytes from or to the first row of an array.
static CUresult copy_line(const struct place *to, const struct place *from, const struct box *box,
                          bool async)
{
    size_t at = box->x[0], with = box->x[1], size = box->width;
    if (to->kind == ARRAY && from->kind == ARRAY)
        return cuMemcpyAtoA(to->array, at, from->array, with, size);
    if (to->kind == ARRAY && from->kind == DEVICE)
        return cuMemcpyDtoA(to->array, at, from->device + with, size);
    if (from->kind == ARRAY && to->kind == DEVICE)
        return cuMemcpyAtoD(to->device + at, from->array, with, size);
    if (to->kind == ARRAY)
        return async ? cuMemcpyHtoAAsync(to->array, at, from->host + with, size, stream)
                     : cuMemcpyHtoA(to->array, at, from->host + with, size);
    return async ? cuMemcpyAtoHAsync(to->host + at, from->array, with, size, stream)
                 : cuMemcpyAtoH(to->host + at, from->array, with, size);
}

static void count_result(CUresult got, CUresult want, const char *form)
{
    if (got != want && wrong_results++ == 0)
        diag("a %s copy gave %d, not %d", form, got, want);
}

// One byte, row or slice beyond an array is refused, and changes nothing.
static void copy_too_much(const struct place *to, const struct place *from, struct box *box)
{
    CUDA_MEMCPY3D copy;
    const struct place *array = to->kind == ARRAY ? to : from;
    int side = array == from;
    switch (below(3)) {
    case 0: box->x[side] = array->width - box->width + 1; break;
    case 1: box->y[side] = array->rows - box->rows + 1; break;
    case 2: box->z[side] = array->slices - box->slices + 1; break;
    }
    describe(&copy, to, from, box);
    count_result(below(2) ? cuMemcpy3D(&copy) : cuMemcpy3DAsync(&copy, stream),
                 CUDA_ERROR_INVALID_VALUE, "too large");
    refused++;
}

static void make_copy(struct place *to, const struct place *from, struct box *box)
{
    CUDA_MEMCPY3D copy;
    bool async = below(2);
    unsigned form = below(8);
    if (form < 2) { // a line in the first row
        box->y[0] = box->y[1] = box->z[0] = box->z[1] = 0;
        box->rows = box->slices = 1;
        count_result(copy_line(to, from, box, async), CUDA_SUCCESS, "line");
        change_model(to, from, box);
        return;
    }
    if (form < 4) { // a rectangle in the first slice
        box->z[0] = box->z[1] = 0;
        box->slices = 1;
    }
    describe(&copy, to, from, box);
    if (form < 4)
        count_result(copy_flat(&copy, async), CUDA_SUCCESS, "flat");
    else if (form == 4)
        count_result(copy_as_peers(&copy, async), CUDA_SUCCESS, "peer");
    else
        count_result(async ? cuMemcpy3DAsync(&copy, stream) : cuMemcpy3D(&copy), CUDA_SUCCESS,
                     "deep");
    change_model(to, from, box);
}

static void random_copy(struct place *places)
{
    struct place *to = &places[below(PLACES)], *from = &places[below(PLACES)];
    struct box box;
    if (to == from || (to->kind != ARRAY && from->kind != ARRAY))
        return;
    random_box(to, from, &box);
    if (below(10) == 0)
        copy_too_much(to, from, &box);
    else
        make_copy(to, from, &box);
    copies_made++;
}

static void one_round(void)
{
    struct place places[PLACES];
    memset(places, 0, sizeof places);
    for (unsigned i = 0; i < PLACES; i++) {
        if (i < ARRAYS)
            make_array_place(&places[i]);
        else
            make_memory_place(&places[i], i < ARRAYS + LINEAR ? DEVICE : HOST);
        fill(&places[i]);
    }
    for (unsigned i = 0; i < COPIES; i++)
        random_copy(places);
    CHECK(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < PLACES; i++)
        look(&places[i], i);
    for (unsigned i = 0; i < PLACES; i++)
        drop(&places[i]);
}

int main(int argc, char **argv)
{
    struct gpu gpu = open_gpu(0);
    unsigned rounds = argc > 2 ? atoi(argv[2]) : 250;
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20;
    context = gpu.context;
    CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t started_with = seed;
        one_round();
        if (wrong_bytes || wrong_results) {
            diag("round %u, seed %" PRIu64, i, started_with);
            break;
        }
    }
    ok(copies_made > rounds && refused, "%u copies were made, of which %u were too large",
       copies_made, refused);
    is_int(wrong_results, 0, "each copy answers what it should");
    is_int(wrong_bytes, 0, "every byte is where the model has it");
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
