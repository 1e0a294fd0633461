// SPDX-License-Identifier: BSD-3-Clause
// Executes texture reads, and loads, stores and reductions on surfaces, lane by lane.
#include "sim/ptx/run/exec.h"

#include "sim/ptx/alu/small_float.h"

#include <string.h>

// Returns the oldest slot of the cache, emptied.
static struct image_cache *image_access_free_slot(struct worker *worker)
{
    struct image_cache *slot = &worker->images[worker->image_at++ % CACHED_IMAGES];
    const struct ptx_images *images = &worker->grid->launch->images;

    if (slot->texture)
        images->release_texture(images->argument, slot->texture);
    if (slot->surface)
        images->release_surface(images->argument, slot->surface);
    memset(slot, 0, sizeof(*slot));
    return slot;
}

static const struct texture *image_access_find_texture(struct worker *worker, uint64_t handle)
{
    const struct ptx_images *images = &worker->grid->launch->images;
    const struct texture *texture;

    for (unsigned i = 0; i < CACHED_IMAGES; i++)
        if (worker->images[i].handle == handle && worker->images[i].texture)
            return worker->images[i].texture;
    texture = images->find_texture ? images->find_texture(images->argument, handle) : NULL;
    if (texture) {
        struct image_cache *slot = image_access_free_slot(worker);

        slot->handle = handle;
        slot->texture = texture;
    }
    return texture;
}

static const struct surface *image_access_find_surface(struct worker *worker, uint64_t handle)
{
    const struct ptx_images *images = &worker->grid->launch->images;
    const struct surface *surface;

    for (unsigned i = 0; i < CACHED_IMAGES; i++)
        if (worker->images[i].handle == handle && worker->images[i].surface)
            return worker->images[i].surface;
    surface = images->find_surface ? images->find_surface(images->argument, handle) : NULL;
    if (surface) {
        struct image_cache *slot = image_access_free_slot(worker);

        slot->handle = handle;
        slot->surface = surface;
    }
    return surface;
}

void images_release(struct worker *worker)
{
    for (unsigned i = 0; i < CACHED_IMAGES; i++)
        if (worker->images[i].handle)
            image_access_free_slot(worker);
    memset(worker->images, 0, sizeof(worker->images));
    worker->image_at = 0;
}

static uint32_t source_word(const struct warp *w, const struct image_op *m, unsigned k,
                            unsigned lane)
{
    return ((const uint32_t *)ref_at(w, m->sources[k]))[lane];
}

static float source_float(const struct warp *w, const struct image_op *m, unsigned k, unsigned lane)
{
    uint32_t word = source_word(w, m, k, lane);
    float value;

    memcpy(&value, &word, 4);
    return value;
}

static void read_sample(const struct warp *w, const struct image_op *m, unsigned lane,
                        struct texture_sample *s)
{
    unsigned n = geometry_coordinates(m->geometry), k = 0;

    *s = (struct texture_sample){.geometry = m->geometry,
                                 .access = (enum texture_access)m->access,
                                 .texels = m->texels,
                                 .component = m->component};
    if (geometry_is_layered(m->geometry))
        s->layer = source_word(w, m, k++, lane);
    for (unsigned i = 0; i < n; i++, k++) {
        s->texel[i] = (int32_t)source_word(w, m, k, lane);
        s->at[i] = source_float(w, m, k, lane);
    }
    if (m->access == TEXTURE_LEVEL) {
        s->texel_level = (int32_t)source_word(w, m, k, lane);
        s->level = source_float(w, m, k++, lane);
    }
    for (unsigned i = 0; m->access == TEXTURE_GRADIENT && i < n; i++)
        s->along_x[i] = source_float(w, m, k++, lane);
    for (unsigned i = 0; m->access == TEXTURE_GRADIENT && i < n; i++)
        s->along_y[i] = source_float(w, m, k++, lane);
    for (unsigned i = 0; m->has_offset && i < n; i++)
        s->offset[i] = (int)source_word(w, m, k++, lane);
}

static uint32_t image_access_half_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, 4);
    return float_half(value);
}

static void write_sample(const struct warp *w, const struct image_op *m, unsigned lane,
                         uint32_t value[4])
{
    for (unsigned i = 0; m->halves && i < 4; i++)
        value[i] = image_access_half_of(value[i]);
    for (unsigned i = 0; m->packed && i < 2; i++)
        value[i] = value[2 * i] | value[2 * i + 1] << 16;
    for (unsigned i = 0; i < m->result_count; i++)
        ((uint32_t *)ref_at(w, m->results[i]))[lane] = value[i];
}

static bool no_object(struct warp *w, const struct insn *in, const struct image_op *m,
                      unsigned lane, uint64_t handle)
{
    return fault_raise(w, in, PTX_FAULT_ILLEGAL_ADDRESS, lane, handle, "no object 0x%llx in %s",
                       (unsigned long long)handle, m->text);
}

bool exec_texture(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct image_op *m = in->image;
    const uint64_t *handles = (const uint64_t *)ref_at(w, in->a);
    const struct texture *texture = NULL;
    uint64_t last = 0;

    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = first_lane(left);
        struct texture_sample sample;
        uint32_t value[4];

        if (!texture || handles[lane] != last)
            texture = image_access_find_texture(w->block->worker, handles[lane]);
        last = handles[lane];
        if (!texture)
            return no_object(w, in, m, lane, last);
        read_sample(w, m, lane, &sample);
        texture_read(texture, &sample, value);
        write_sample(w, m, lane, value);
    }
    if (in->d2 != NO_PRED)
        write_pred(w, in->d2, mask, ALL_LANES); // all memory is resident
    return true;
}

static void read_place(const struct warp *w, const struct image_op *m, unsigned lane,
                       struct surface_place *place)
{
    unsigned n = geometry_coordinates(m->geometry), k = 0;

    *place = (struct surface_place){.geometry = m->geometry};
    if (geometry_is_layered(m->geometry))
        place->layer = source_word(w, m, k++, lane);
    for (unsigned i = 0; i < n; i++, k++)
        place->at[i] = (int32_t)source_word(w, m, k, lane);
}

// Copies between a lane's registers (words or doubles) and the bytes of an element.
static void move_element(const struct warp *w, uint32_t ref, unsigned class, unsigned lane,
                         char *bytes, unsigned size, bool load)
{
    char *d = ref_at(w, ref) + lane * (class == CLASS_DOUBLE ? 8 : 4);
    uint64_t value = 0;

    if (!load) {
        memcpy(bytes, d, size);
        return;
    }
    memcpy(&value, bytes, size);
    memcpy(d, &value, class == CLASS_DOUBLE ? 8 : 4);
}

static void surface_load(const struct warp *w, const struct image_op *m, unsigned lane, char *at)
{
    static char zeroes[16];

    for (unsigned i = 0; i < m->result_count; i++)
        move_element(w, m->results[i], m->classes[i], lane, (at ? at : zeroes) + i * m->size,
                     m->size, true);
}

static void surface_store(const struct warp *w, const struct image_op *m, unsigned lane, char *at)
{
    for (unsigned i = 0; m->value_at + i < m->source_count; i++)
        move_element(w, m->sources[m->value_at + i], m->classes[i], lane, at + i * m->size, m->size,
                     false);
}

static void surface_reduce(const struct warp *w, const struct image_op *m,
                           const struct surface *surface, unsigned lane, char *at)
{
    const char *source = ref_at(w, m->sources[m->value_at]);
    uint64_t value = m->classes[0] == CLASS_DOUBLE ? ((const uint64_t *)source)[lane]
                                                   : ((const uint32_t *)source)[lane];
    enum type type = (enum type)m->type;

    if (m->access == SURFACE_REDUCE_TEXEL && surface->texel.kind == CHANNEL_SIGNED &&
        type == TY_U32)
        type = TY_S32;
    atomic_reduce((enum atom_op)m->atom, type, at, value);
}

static unsigned surface_access_bytes(const struct image_op *m, const struct surface *surface)
{
    switch ((enum surface_access)m->access) {
    case SURFACE_LOAD: return (unsigned)m->size * m->result_count;
    case SURFACE_STORE: return (unsigned)m->size * (m->source_count - m->value_at);
    case SURFACE_FORMAT: return texel_bytes(&surface->texel);
    case SURFACE_REDUCE:
    case SURFACE_REDUCE_TEXEL: break;
    }
    return m->size;
}

static void surface_do(const struct warp *w, const struct image_op *m,
                       const struct surface *surface, unsigned lane, char *at)
{
    uint32_t value[4] = {0};

    switch ((enum surface_access)m->access) {
    case SURFACE_LOAD: surface_load(w, m, lane, at); return;
    case SURFACE_STORE: surface_store(w, m, lane, at); return;
    case SURFACE_FORMAT:
        for (unsigned i = 0; m->value_at + i < m->source_count; i++)
            value[i] = source_word(w, m, m->value_at + i, lane);
        texel_store(&surface->texel, at, value);
        return;
    case SURFACE_REDUCE:
    case SURFACE_REDUCE_TEXEL: surface_reduce(w, m, surface, lane, at); return;
    }
}

bool exec_surface(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct image_op *m = in->image;
    const uint64_t *handles = (const uint64_t *)ref_at(w, in->a);
    bool in_bytes = m->access != SURFACE_FORMAT && m->access != SURFACE_REDUCE_TEXEL;

    if (m->access == SURFACE_REDUCE || m->access == SURFACE_REDUCE_TEXEL)
        w->budget -= ATOMIC_COST;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = first_lane(left);
        const struct surface *surface = image_access_find_surface(w->block->worker, handles[lane]);
        struct surface_place place;
        unsigned bytes;
        char *at;

        if (!surface)
            return no_object(w, in, m, lane, handles[lane]);
        read_place(w, m, lane, &place);
        bytes = surface_access_bytes(m, surface);
        if (m->access == SURFACE_REDUCE_TEXEL && bytes != texel_bytes(&surface->texel))
            return fault_raise(w, in, PTX_FAULT_ILLEGAL_INSTRUCTION, lane, handles[lane],
                               "texels are not of %u bytes in %s", bytes, m->text);
        if (in_bytes && place.at[0] % (int)bytes)
            return fault_raise(w, in, PTX_FAULT_MISALIGNED_ADDRESS, lane, (uint32_t)place.at[0],
                               "misaligned place %d in %s", place.at[0], m->text);
        if (!surface_find(surface, &place, (enum surface_boundary)m->boundary, in_bytes, bytes,
                          &at))
            return fault_raise(w, in, PTX_FAULT_ILLEGAL_ADDRESS, lane, (uint32_t)place.at[0],
                               "place %d, %d, %d of layer %u is beyond the surface in %s",
                               place.at[0], place.at[1], place.at[2], place.layer, m->text);
        if (at || m->access == SURFACE_LOAD)
            surface_do(w, m, surface, lane, at);
    }
    return true;
}

// Answers a query; invalid objects give zeros.
static uint32_t image_access_answer(struct worker *worker, const struct insn *in, uint64_t handle,
                                    unsigned level)
{
    enum image_question question = (enum image_question)in->image->access;
    const struct texture *texture;
    const struct surface *surface;

    if (question == ASK_IS_TEXTURE)
        return image_access_find_texture(worker, handle) != NULL;
    if (question == ASK_IS_SURFACE)
        return image_access_find_surface(worker, handle) != NULL;
    if (question == ASK_IS_SAMPLER)
        return 0; // a texture object includes its sampler
    if (in->imm) {
        surface = image_access_find_surface(worker, handle);
        return surface ? surface_answer(surface, question) : 0;
    }
    texture = image_access_find_texture(worker, handle);
    return texture ? texture_answer(texture, question, level) : 0;
}

void exec_image_query(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct image_op *m = in->image;
    const uint64_t *handles = (const uint64_t *)ref_at(w, in->a);
    uint32_t values[LANES] = {0}, set = 0;

    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = first_lane(left);
        unsigned level = m->source_count ? source_word(w, m, 0, lane) : 0;

        values[lane] = image_access_answer(w->block->worker, in, handles[lane], level);
        set |= values[lane] ? 1u << lane : 0;
    }
    if (m->result_count)
        write_word(w, m->results[0], mask, values);
    else
        write_pred(w, in->d2, mask, set);
}
