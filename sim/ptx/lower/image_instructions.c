// SPDX-License-Identifier: BSD-3-Clause
// Lowers accesses to texture and surface objects, whose handle is a 64-bit value (unified mode).
// Texture references, which CUDA no longer supports, are refused.
#include "sim/ptx/lower/lower.h"

static enum texture_geometry mod_geometry(struct compiler *c)
{
    static const char *const names[] = {
        [GEOMETRY_1D] = "1d",       [GEOMETRY_2D] = "2d",   [GEOMETRY_3D] = "3d",
        [GEOMETRY_CUBE] = "cube",   [GEOMETRY_A1D] = "a1d", [GEOMETRY_A2D] = "a2d",
        [GEOMETRY_ACUBE] = "acube",
    };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mod(c, names[i]))
            return (enum texture_geometry)i;
    refuse(c, "geometry");
}

static void add_source(struct compiler *c, struct image_op *m, uint32_t ref)
{
    if (m->source_count == IMAGE_SOURCES)
        malformed(c, "too many coordinates");
    m->sources[m->source_count++] = ref;
}

// Adds the first `count` elements of a vector, without padding, or a single operand.
static void add_elements(struct compiler *c, struct image_op *m, struct operand *o, unsigned count,
                         enum type t)
{
    if (o->kind != OPD_VECTOR && count == 1) {
        add_source(c, m, use(c, o, t));
        return;
    }
    if (o->kind != OPD_VECTOR || o->count < count || o->count > 4)
        malformed(c, "vector of another length");
    for (unsigned i = 0; i < count; i++)
        add_source(c, m, use(c, &o->elements[i], t));
}

// Parses [object, {layer, x, y, ...}]. Returns the object.
static uint32_t image_operand(struct compiler *c, struct image_op *m, struct operand *o,
                              enum type t)
{
    unsigned count = geometry_coordinates(m->geometry);
    struct operand rest, *at = o->coordinates;

    if (o->kind != OPD_ADDRESS || !o->base || o->offset || !at)
        malformed(c, "[object, coordinates] expected");
    if (o->base->kind != OPD_REG || type_class(o->base->type) != CLASS_DOUBLE)
        refuse(c, "only texture and surface objects");
    if (geometry_is_layered(m->geometry)) {
        if (at->kind != OPD_VECTOR || at->count < 2)
            malformed(c, "layer and coordinates expected");
        add_source(c, m, use(c, &at->elements[0], TY_B32));
        rest = *at;
        rest.elements++;
        rest.count--;
        at = &rest;
    }
    add_elements(c, m, at, count, t);
    return use(c, o->base, TY_U64);
}

static void check_coordinate_type(struct compiler *c, enum type t)
{
    if (t != TY_F32 && t != TY_S32)
        refuse(c, "type of coordinates");
}

static void result_type(struct compiler *c, struct image_op *m, enum type t, unsigned count)
{
    m->halves = t == TY_F16 || t == TY_F16X2;
    m->packed = t == TY_F16X2;
    m->result_count = (uint8_t)count;
    if (count != (m->packed ? 2 : 4))
        refuse(c, "vector");
    if (!m->halves && t != TY_U32 && t != TY_S32 && t != TY_F32)
        refuse(c, "type");
}

// Defines the results {a, b, c, d} or {a, b, c, d}|resident.
static void define_results(struct compiler *c, struct insn *in, struct image_op *m,
                           struct operand *to, enum type t)
{
    if (to->kind == OPD_PAIR) {
        in->d2 = define(c, &to->elements[1], TY_PRED);
        to = &to->elements[0];
    }
    if (to->kind != OPD_VECTOR || to->count != m->result_count)
        malformed(c, "vector of another length");
    for (unsigned i = 0; i < m->result_count; i++) {
        enum type rt = m->packed ? TY_B32 : m->halves ? TY_B16 : t;

        m->results[i] = define(c, &to->elements[i], rt);
        m->classes[i] = (uint8_t)type_class(rt);
    }
}

static struct image_op *new_image_op(struct compiler *c)
{
    struct image_op *m = compile_alloc(c, sizeof(*m));

    m->text = statement_text(c);
    return m;
}

static unsigned mod_vector_length(struct compiler *c)
{
    return mod(c, "v4") ? 4 : mod(c, "v2") ? 2 : 1;
}

static unsigned derivative_count(enum texture_geometry geometry)
{
    return geometry_coordinates(geometry);
}

static void add_offset(struct compiler *c, struct image_op *m, unsigned at)
{
    struct operand *o = opd(c, at);

    if (m->geometry == GEOMETRY_CUBE || m->geometry == GEOMETRY_ACUBE)
        refuse(c, "comparison of depths");
    if (o->kind != OPD_VECTOR && geometry_coordinates(m->geometry) > 1)
        refuse(c, "comparison of depths");
    m->has_offset = true;
    add_elements(c, m, o, geometry_coordinates(m->geometry), TY_S32);
}

static void lower_tex(struct compiler *c)
{
    struct image_op *m = new_image_op(c);
    unsigned next = 2;
    struct insn *in;
    enum type t, coordinates;
    uint32_t object;

    m->access = mod(c, "level") ? TEXTURE_LEVEL : mod(c, "grad") ? TEXTURE_GRADIENT : TEXTURE_BASE;
    mod(c, "base");
    m->geometry = mod_geometry(c);
    unsigned length = mod_vector_length(c);
    t = mod_type(c);
    coordinates = mod_type(c);
    check_coordinate_type(c, coordinates);
    result_type(c, m, t, length);
    want_operands(c, 2, 6);
    m->texels = coordinates == TY_S32;
    object = image_operand(c, m, opd(c, 1), coordinates);
    if (m->access == TEXTURE_LEVEL)
        add_source(c, m, use(c, opd(c, next++), coordinates));
    for (unsigned i = 0; m->access == TEXTURE_GRADIENT && i < 2; i++)
        add_elements(c, m, opd(c, next++), derivative_count(m->geometry), TY_F32);
    if (next < c->statement->operand_count)
        add_offset(c, m, next++);
    if (next < c->statement->operand_count)
        refuse(c, "comparison of depths");
    in = emit(c, OP_TEXTURE);
    in->a = object;
    in->image = m;
    define_results(c, in, m, opd(c, 0), t);
}

static void lower_tld4(struct compiler *c)
{
    static const char *const components[] = {"r", "g", "b", "a"};
    struct image_op *m = new_image_op(c);
    struct insn *in;
    enum type t, coordinates;
    uint32_t object;

    m->access = TEXTURE_GATHER;
    for (unsigned i = 0; i < 4; i++)
        if (mod(c, components[i]))
            m->component = (uint8_t)i;
    m->geometry = mod_geometry(c);
    if (geometry_coordinates(m->geometry) == 1 || m->geometry == GEOMETRY_3D)
        refuse(c, "geometry");
    unsigned length = mod_vector_length(c);
    t = mod_type(c);
    coordinates = mod_type(c);
    if (coordinates != TY_F32)
        refuse(c, "type of coordinates");
    result_type(c, m, t, length);
    want_operands(c, 2, 4);
    object = image_operand(c, m, opd(c, 1), coordinates);
    if (c->statement->operand_count > 2)
        add_offset(c, m, 2);
    if (c->statement->operand_count > 3)
        refuse(c, "comparison of depths");
    in = emit(c, OP_TEXTURE);
    in->a = object;
    in->image = m;
    define_results(c, in, m, opd(c, 0), t);
}

static void mod_boundary(struct compiler *c, struct image_op *m)
{
    m->boundary = mod(c, "clamp") ? BOUNDARY_CLAMP : mod(c, "zero") ? BOUNDARY_ZERO : BOUNDARY_TRAP;
    mod(c, "trap");
}

static void skip_caching(struct compiler *c)
{
    static const char *const hints[] = {"ca", "cg", "cs", "cv", "wb", "wt"};

    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        mod(c, hints[i]);
}

// Reads the modifiers of a surface instruction. Returns the type of an element.
static enum type surface_modifiers(struct compiler *c, struct image_op *m, unsigned *length)
{
    enum type t;

    m->geometry = mod_geometry(c);
    if (m->geometry == GEOMETRY_CUBE || m->geometry == GEOMETRY_ACUBE)
        refuse(c, "geometry");
    skip_caching(c);
    *length = mod_vector_length(c);
    t = mod_type(c);
    mod_boundary(c, m);
    m->size = (uint8_t)type_size(t);
    return t;
}

static struct operand *surface_element(struct compiler *c, struct operand *o, unsigned length,
                                       unsigned i)
{
    if (length == 1 && o->kind != OPD_VECTOR)
        return o;
    if (o->kind != OPD_VECTOR || o->count != length)
        malformed(c, "vector of another length");
    return &o->elements[i];
}

static void check_surface_type(struct compiler *c, enum type t, unsigned length)
{
    if (type_kind(t) != 'b' || type_size(t) > 8 || type_size(t) * length > 16)
        refuse(c, "type");
}

static void lower_suld(struct compiler *c)
{
    struct image_op *m = new_image_op(c);
    struct insn *in;
    unsigned length;
    uint32_t object;
    enum type t;

    m->access = SURFACE_LOAD;
    if (!mod(c, "b"))
        refuse(c, "only .b");
    t = surface_modifiers(c, m, &length);
    check_surface_type(c, t, length);
    want_operands(c, 2, 2);
    object = image_operand(c, m, opd(c, 1), TY_S32);
    in = emit(c, OP_SURFACE);
    in->a = object;
    in->image = m;
    m->result_count = (uint8_t)length;
    for (unsigned i = 0; i < length; i++) {
        m->results[i] = define(c, surface_element(c, opd(c, 0), length, i), t);
        m->classes[i] = (uint8_t)type_class(t);
    }
}

static void lower_sust(struct compiler *c)
{
    struct image_op *m = new_image_op(c);
    struct insn *in;
    unsigned length;
    uint32_t object;
    enum type t;

    m->access = mod(c, "p") ? SURFACE_FORMAT : SURFACE_STORE;
    if (m->access == SURFACE_STORE && !mod(c, "b"))
        refuse(c, "only .b and .p");
    t = surface_modifiers(c, m, &length);
    if (m->access == SURFACE_STORE)
        check_surface_type(c, t, length);
    else if (type_size(t) != 4)
        refuse(c, "type");
    want_operands(c, 2, 2);
    object = image_operand(c, m, opd(c, 0), TY_S32);
    m->value_at = m->source_count;
    for (unsigned i = 0; i < length; i++) {
        add_source(c, m, use(c, surface_element(c, opd(c, 1), length, i), t));
        m->classes[i] = (uint8_t)type_class(t);
    }
    in = emit(c, OP_SURFACE);
    in->a = object;
    in->image = m;
}

static void lower_sured(struct compiler *c)
{
    struct image_op *m = new_image_op(c);
    struct insn *in;
    unsigned length;
    uint32_t object;
    enum type t;

    m->access = mod(c, "p") ? SURFACE_REDUCE_TEXEL : SURFACE_REDUCE;
    if (m->access == SURFACE_REDUCE)
        mod(c, "b");
    m->atom = (uint8_t)mod_atom(c);
    t = surface_modifiers(c, m, &length);
    if (length != 1 || m->atom == ATOM_INC || m->atom == ATOM_DEC || m->atom == ATOM_EXCH ||
        m->atom == ATOM_CAS || m->atom == ATOM_XOR)
        refuse(c, "operation");
    if (t == TY_B32 && (m->atom == ATOM_ADD || m->atom == ATOM_MIN || m->atom == ATOM_MAX))
        t = TY_U32; // for .p, whose sign is the surface's
    check_atom(c, (enum atom_op)m->atom, t);
    m->type = (uint8_t)t;
    want_operands(c, 2, 2);
    object = image_operand(c, m, opd(c, 0), TY_S32);
    m->value_at = m->source_count;
    add_source(c, m, use(c, opd(c, 1), t));
    m->classes[0] = (uint8_t)type_class(t);
    in = emit(c, OP_SURFACE);
    in->a = object;
    in->image = m;
}

static bool mod_question(struct compiler *c, struct image_op *m)
{
    static const char *const names[] = {
        [ASK_WIDTH] = "width",         [ASK_HEIGHT] = "height",
        [ASK_DEPTH] = "depth",         [ASK_DATA_TYPE] = "channel_data_type",
        [ASK_ORDER] = "channel_order", [ASK_NORMALIZED] = "normalized_coords",
        [ASK_LAYERS] = "array_size",   [ASK_LEVELS] = "num_mipmap_levels",
        [ASK_SAMPLES] = "num_samples", [ASK_IS_TEXTURE] = "texref",
        [ASK_IS_SURFACE] = "surfref",  [ASK_IS_SAMPLER] = "samplerref",
    };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mod(c, names[i])) {
            m->access = (uint8_t)i;
            return true;
        }
    return false;
}

// Lowers txq and suq; a query of a level has the level as third operand.
static void lower_query(struct compiler *c)
{
    struct image_op *m = new_image_op(c);
    bool of_level = mod(c, "level");
    struct operand *o = opd(c, 1);
    uint32_t object;
    struct insn *in;

    if (!mod_question(c, m) || m->access >= ASK_IS_TEXTURE)
        refuse(c, "question");
    if (mod_type(c) != TY_B32)
        refuse(c, "type");
    want_operands(c, of_level ? 3 : 2, of_level ? 3 : 2);
    if (o->kind != OPD_ADDRESS || !o->base || o->offset || o->coordinates)
        malformed(c, "[object] expected");
    if (o->base->kind != OPD_REG)
        refuse(c, "only texture and surface objects");
    if (of_level)
        add_source(c, m, use(c, opd(c, 2), TY_B32));
    object = use(c, o->base, TY_U64);
    in = emit(c, OP_IMAGE_QUERY);
    in->a = object;
    in->image = m;
    in->imm = c->statement->opcode[0] == 's';
    in->dst_class = CLASS_WORD;
    m->result_count = 1;
    m->results[0] = define(c, opd(c, 0), TY_B32);
}

static void lower_istypep(struct compiler *c)
{
    struct image_op *m = new_image_op(c);
    uint32_t object;
    struct insn *in;

    if (!mod_question(c, m) || m->access < ASK_IS_TEXTURE)
        refuse(c, "type");
    want_operands(c, 2, 2);
    object = use(c, opd(c, 1), TY_U64);
    in = emit(c, OP_IMAGE_QUERY);
    in->a = object;
    in->image = m;
    in->dst_class = CLASS_PRED;
    in->d2 = define(c, opd(c, 0), TY_PRED);
}

const struct lowering lower_images[] = {
    {"tex", lower_tex},   {"tld4", lower_tld4},       {"suld", lower_suld},
    {"sust", lower_sust}, {"sured", lower_sured},     {"txq", lower_query},
    {"suq", lower_query}, {"istypep", lower_istypep}, {NULL, NULL},
};
