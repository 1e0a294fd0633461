// SPDX-License-Identifier: BSD-3-Clause
#include "sim/array/array_tiles.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/scope.h"
#include "sim/engine/physical_pieces.h"

// a unit as a box of texels of its part, cut at the part's edge
struct array_unit {
    struct sim_physical *physical; // counted; NULL: not mapped
    size_t offset;
    unsigned part; // the first part of a tail
    bool tail;
    size_t row, rows, slice, slices, byte,
        bytes; // within the part: rows of blocks, slices, bytes of a row
};

struct array_tiles {
    struct array_storage *storage;
    struct array_tiles *next;
    size_t count;
    size_t first_of_part[ARRAY_PARTS_MAX]; // number of the part's first tile, for parts with tiles
    size_t first_tail;
    unsigned across[ARRAY_PARTS_MAX][3]; // tiles in each direction; layers count as depth
    struct array_unit units[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct array_tiles *all; // all sparse arrays, which may share memory

// The size of elements (1, 2, 4, 8, 16 bytes) selects the tile; all tiles have the same number of
// bytes.
void array_tile_extents(const struct array_storage *storage, unsigned tile[3])
{
    static const unsigned flat[][3] = {
        {256, 256, 1}, {256, 128, 1}, {128, 128, 1}, {128, 64, 1}, {64, 64, 1}};
    static const unsigned deep[][3] = {
        {64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
    const struct array_part *part = &storage->parts[0];
    int size = __builtin_ctz(part->element.bytes);
    for (unsigned i = 0; i < 3; i++)
        tile[i] = (part->depth > 1 ? deep : flat)[size][i] * (i < 2 ? part->element.block : 1);
}

static bool array_tiles_is_whole(const struct array_part *part, const unsigned tile[3])
{
    return part->width >= tile[0] && part->height >= tile[1] && part->depth >= tile[2];
}

unsigned array_first_of_tail(const struct array_storage *storage)
{
    unsigned tile[3], level = 0;
    array_tile_extents(storage, tile);
    while (level < storage->part_count && array_tiles_is_whole(&storage->parts[level], tile))
        level++;
    return level;
}

static size_t layer_bytes(const struct array_part *part)
{
    return part->depth * part->slice_bytes;
}

static size_t array_tiles_rounded(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// Rounds up to whole groups, whose size is a power of two up to MOST.
static size_t array_tiles_grouped(size_t count, size_t most)
{
    size_t group = 1;
    while (group < count && group < most)
        group *= 2;
    return array_tiles_rounded(count, group);
}

// Returns the bytes that a GPU needs: lines of 64 bytes, in groups of 8 rows; these and the slices
// in groups as large as tiles.
static size_t bytes_on_gpu(const struct array_part *part, const unsigned tile[3])
{
    return array_tiles_rounded(part->row_bytes, 64) *
           array_tiles_grouped((part->rows + 7) / 8, tile[1] / part->element.block / 8) * 8 *
           array_tiles_grouped(part->depth, tile[2]);
}

size_t array_tail_bytes(const struct array_storage *storage)
{
    size_t bytes = 0;
    unsigned tile[3];
    array_tile_extents(storage, tile);
    for (unsigned i = array_first_of_tail(storage); i < storage->part_count; i++)
        bytes += bytes_on_gpu(&storage->parts[i], tile);
    return array_tiles_rounded(bytes, ARRAY_TILE_BYTES);
}

// ---- the texels of a unit, and their copy ----

static char *texels_of(const struct array_storage *storage, const struct array_part *part,
                       size_t byte, size_t row, size_t slice)
{
    return (char *)(uintptr_t)storage->base + part->offset + slice * part->slice_bytes +
           row * part->row_bytes + byte;
}

enum tile_direction { TO_MEMORY, FROM_MEMORY, TO_NOTHING };

static void move_bytes(const struct array_unit *unit, char *texels, size_t bytes, size_t offset,
                       enum tile_direction direction)
{
    int file = unit->physical ? sim_physical_file(unit->physical) : -1;
    off_t at = (off_t)(unit->offset + offset);
    if (direction == TO_NOTHING)
        memset(texels, 0, bytes);
    else if (direction == TO_MEMORY)
        (void)!pwrite(file, texels, bytes, at);
    else
        (void)!pread(file, texels, bytes, at);
}

static void move_tile(const struct array_storage *storage, const struct array_unit *unit,
                      enum tile_direction direction)
{
    const struct array_part *part = &storage->parts[unit->part];
    unsigned tile[3];
    array_tile_extents(storage, tile);
    size_t block = part->element.block;
    size_t pitch = tile[0] / block * part->element.bytes, rows = tile[1] / block;
    for (size_t z = 0; z < unit->slices; z++)
        for (size_t y = 0; y < unit->rows; y++)
            move_bytes(unit, texels_of(storage, part, unit->byte, unit->row + y, unit->slice + z),
                       unit->bytes, (z * rows + y) * pitch, direction);
}

static void move_tail(const struct array_storage *storage, const struct array_unit *unit,
                      enum tile_direction direction)
{
    size_t offset = 0;
    for (unsigned i = unit->part; i < storage->part_count; i++) {
        const struct array_part *part = &storage->parts[i];
        move_bytes(unit, texels_of(storage, part, 0, 0, unit->slice * part->depth),
                   layer_bytes(part), offset, direction);
        offset += layer_bytes(part);
    }
}

static void move_unit(const struct array_storage *storage, const struct array_unit *unit,
                      enum tile_direction direction)
{
    if (unit->tail)
        move_tail(storage, unit, direction);
    else
        move_tile(storage, unit, direction);
}

// Copies the change to all other units mapped to the same memory. Called under lock.
static void show_to_others(const struct array_unit *changed)
{
    for (struct array_tiles *tiles = all; tiles; tiles = tiles->next)
        for (size_t i = 0; i < tiles->count; i++) {
            const struct array_unit *unit = &tiles->units[i];
            if (unit != changed && unit->physical == changed->physical &&
                unit->offset == changed->offset)
                move_unit(tiles->storage, unit, FROM_MEMORY);
        }
}

// ---- units ----

static unsigned tiles_along(size_t extent, unsigned tile)
{
    return (unsigned)((extent + tile - 1) / tile);
}

static size_t array_tiles_at_most(size_t value, size_t most)
{
    return value < most ? value : most;
}

static void set_up_tile(const struct array_storage *storage, struct array_unit *unit,
                        unsigned number, const unsigned tile[3], const unsigned at[3])
{
    const struct array_part *part = &storage->parts[number];
    size_t block = part->element.block, width = tile[0] / block * part->element.bytes;
    unit->part = number;
    unit->byte = at[0] * width;
    unit->bytes = array_tiles_at_most(width, part->row_bytes - unit->byte);
    unit->row = at[1] * (tile[1] / block);
    unit->rows = array_tiles_at_most(tile[1] / block, part->rows - unit->row);
    unit->slice = (size_t)at[2] * tile[2];
    unit->slices = array_tiles_at_most(tile[2], array_slices(part) - unit->slice);
}

static void set_up_part(struct array_tiles *tiles, unsigned number, const unsigned tile[3])
{
    const unsigned *across = tiles->across[number];
    struct array_unit *unit = &tiles->units[tiles->first_of_part[number]];
    for (unsigned z = 0; z < across[2]; z++)
        for (unsigned y = 0; y < across[1]; y++)
            for (unsigned x = 0; x < across[0]; x++)
                set_up_tile(tiles->storage, unit++, number, tile, (unsigned[3]){x, y, z});
}

static size_t count_units(const struct array_storage *storage, struct array_tiles *layout)
{
    unsigned tile[3];
    size_t count = 0;
    array_tile_extents(storage, tile);
    for (unsigned i = 0; i < array_first_of_tail(storage); i++) {
        const struct array_part *part = &storage->parts[i];
        layout->first_of_part[i] = count;
        layout->across[i][0] = tiles_along(part->width, tile[0]);
        layout->across[i][1] = tiles_along(part->height, tile[1]);
        layout->across[i][2] = tiles_along(array_slices(part), tile[2]);
        count += (size_t)layout->across[i][0] * layout->across[i][1] * layout->across[i][2];
    }
    layout->first_tail = count;
    return count + (array_tail_bytes(storage) ? storage->parts[0].layers : 0);
}

CUresult array_tiles_create(struct array_storage *storage)
{
    struct array_tiles layout = {.storage = storage};
    unsigned tile[3];
    layout.count = count_units(storage, &layout);
    struct array_tiles *tiles = calloc(1, sizeof(*tiles) + layout.count * sizeof(tiles->units[0]));
    void *base = mmap(NULL, storage->size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!tiles || base == MAP_FAILED) {
        free(tiles);
        if (base != MAP_FAILED)
            munmap(base, storage->size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(tiles, &layout, sizeof(layout));
    storage->base = (uintptr_t)base;
    storage->tiles = tiles;
    array_tile_extents(storage, tile);
    for (unsigned i = 0; i < array_first_of_tail(storage); i++)
        set_up_part(tiles, i, tile);
    for (size_t i = tiles->first_tail; i < tiles->count; i++)
        tiles->units[i] = (struct array_unit){.tail = true,
                                              .part = array_first_of_tail(storage),
                                              .slice = i - tiles->first_tail};
    SCOPED_LOCK(&lock);
    tiles->next = all;
    all = tiles;
    return CUDA_SUCCESS;
}

void array_tiles_destroy(struct array_storage *storage)
{
    struct array_tiles *tiles = storage->tiles, **at = &all;
    {
        SCOPED_LOCK(&lock);
        while (*at != tiles)
            at = &(*at)->next;
        *at = tiles->next;
    }
    for (size_t i = 0; i < tiles->count; i++)
        if (tiles->units[i].physical)
            sim_physical_put(tiles->units[i].physical);
    munmap((void *)(uintptr_t)storage->base, storage->size);
    free(tiles);
}

size_t array_units_bytes(const struct array_storage *storage, const struct array_units *units)
{
    if (units->tail)
        return array_tail_bytes(storage);
    return (size_t)units->count[0] * units->count[1] * units->count[2] * ARRAY_TILE_BYTES;
}

// Maps the unit. Called under lock.
static void map_unit(struct array_storage *storage, struct array_unit *unit,
                     struct sim_physical *physical, size_t offset)
{
    if (physical)
        sim_physical_hold(physical);
    if (unit->physical)
        sim_physical_put(unit->physical);
    unit->physical = physical;
    unit->offset = offset;
    move_unit(storage, unit, physical ? FROM_MEMORY : TO_NOTHING);
}

void array_units_map(struct array_storage *storage, const struct array_units *units,
                     struct sim_physical *physical, size_t offset)
{
    struct array_tiles *tiles = storage->tiles;
    const unsigned *across = tiles->across[units->part];
    SCOPED_LOCK(&lock);
    if (units->tail) {
        map_unit(storage, &tiles->units[tiles->first_tail + units->layer], physical, offset);
        return;
    }
    for (unsigned z = 0; z < units->count[2]; z++)
        for (unsigned y = 0; y < units->count[1]; y++)
            for (unsigned x = 0; x < units->count[0]; x++, offset += ARRAY_TILE_BYTES) {
                size_t number = ((size_t)(units->first[2] + z + units->layer) * across[1] +
                                 units->first[1] + y) *
                                    across[0] +
                                units->first[0] + x;
                map_unit(storage, &tiles->units[tiles->first_of_part[units->part] + number],
                         physical, offset);
            }
}

static bool array_tiles_overlap(size_t a, size_t count, size_t b, size_t others)
{
    return a < b + others && b < a + count;
}

static bool is_touched(const struct array_storage *storage, const struct array_unit *unit,
                       const struct array_part *part, const size_t rows[2], const size_t slices[2])
{
    if (!unit->tail)
        return &storage->parts[unit->part] == part &&
               array_tiles_overlap(unit->row, unit->rows, rows[0], rows[1]) &&
               array_tiles_overlap(unit->slice, unit->slices, slices[0], slices[1]);
    return part >= &storage->parts[unit->part] &&
           array_tiles_overlap(unit->slice * part->depth, part->depth, slices[0], slices[1]);
}

static const struct array_part *part_at(const struct array_storage *storage, uint64_t address)
{
    unsigned i = storage->part_count - 1;
    while (i && address - storage->base < storage->parts[i].offset)
        i--;
    return &storage->parts[i];
}

void array_tiles_written(struct array_storage *storage, uint64_t address, size_t first_row,
                         size_t rows, size_t first_slice, size_t slices)
{
    const struct array_part *part = part_at(storage, address);
    struct array_tiles *tiles = storage->tiles;
    SCOPED_LOCK(&lock);
    for (size_t i = 0; i < tiles->count; i++) {
        struct array_unit *unit = &tiles->units[i];
        if (!is_touched(storage, unit, part, (size_t[2]){first_row, rows},
                        (size_t[2]){first_slice, slices}))
            continue;
        move_unit(storage, unit, unit->physical ? TO_MEMORY : TO_NOTHING);
        if (unit->physical)
            show_to_others(unit);
    }
}
