// SPDX-License-Identifier: BSD-3-Clause
// Computes the face that a direction points to, and the texels beyond a face's edge.
#include "sim/texture/footprint.h"

#include <math.h>

// Axis and side of a face, and the axes of s and t with their signs.
static const struct face {
    int major, major_sign, s, s_sign, t, t_sign;
} faces[6] = {
    {0, 1, 2, -1, 1, -1}, {0, -1, 2, 1, 1, -1}, {1, 1, 0, 1, 2, 1},
    {1, -1, 0, 1, 2, -1}, {2, 1, 0, 1, 1, -1},  {2, -1, 0, -1, 1, -1},
};

static unsigned face_of(const float d[3])
{
    float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);
    unsigned axis = z >= x && z >= y ? 2 : y >= x ? 1 : 0;

    return 2 * axis + (signbit(d[axis]) ? 1 : 0);
}

struct cube_point cube_project(const float d[3])
{
    struct cube_point p = {.face = face_of(d)};
    const struct face *f = &faces[p.face];
    float major = fabsf(d[f->major]);

    if (!(major > 0)) {
        p.s = p.t = 0.5f; // the direction is zero
        return p;
    }
    p.s = ((float)f->s_sign * d[f->s] / major + 1) * 0.5f;
    p.t = ((float)f->t_sign * d[f->t] / major + 1) * 0.5f;
    return p;
}

// Finds the neighbour with texel centres as odd integers, -(n - 1) to n - 1, on a cube whose faces
// lie at n. A step beyond an edge becomes a step along the face's own axis.
bool cube_neighbour(unsigned *face, int32_t *x, int32_t *y, unsigned extent)
{
    const struct face *f = &faces[*face];
    int32_t n = (int32_t)extent, p[3];
    bool beyond_x = *x < 0 || *x >= n, beyond_y = *y < 0 || *y >= n;
    int axis;

    if (!beyond_x && !beyond_y)
        return true;
    if (beyond_x && beyond_y)
        return false;
    p[f->s] = f->s_sign * (2 * *x + 1 - n);
    p[f->t] = f->t_sign * (2 * *y + 1 - n);
    p[f->major] = f->major_sign * (n - 1);
    axis = beyond_x ? f->s : f->t;
    p[axis] = p[axis] < 0 ? -n : n;
    *face = (unsigned)(2 * axis + (p[axis] < 0));
    f = &faces[*face];
    *x = (f->s_sign * p[f->s] + n - 1) / 2;
    *y = (f->t_sign * p[f->t] + n - 1) / 2;
    return true;
}
