// SPDX-License-Identifier: BSD-3-Clause
// Defines the database columns of boxes, GPUs, leases and holds. The SQL, its parameters, the
// reading of rows and the API's output are derived from these tables. A new column also needs a
// step in migrations.h.
#ifndef RGPU_BROKER_COLUMNS_H
#define RGPU_BROKER_COLUMNS_H

#include <jansson.h>

#include "broker/pool/outcome.h"
#include "broker/pool/pool.h"

enum column_kind {
    COLUMN_NUMBER, // an integer of any width
    COLUMN_FLAG,
    COLUMN_NAME,    // an enumeration, stored as one of `names`
    COLUMN_CHARS,   // char[]
    COLUMN_TEXT,    // char *, owned; NULL stands for an empty text
    COLUMN_MODEL,   // of a GPU, interned by the pool
    COLUMN_BOX,     // a box of the pool, stored by name
    COLUMN_GPU,     // a GPU of the pool, stored by UUID
    COLUMN_REQUEST, // stored as JSON
};

// Uses of a column.
enum column_role {
    COLUMN_CHANGES = 1,     // leases: written whenever the lease changes
    COLUMN_SAID = 2,        // boxes and GPUs: reported by the box when it registers
    COLUMN_SHOWN = 4,       // shown by the API
    COLUMN_SHOWN_ENDED = 8, // shown by the API once the lease has ended
    COLUMN_OPTIONAL = 16,   // shown only if not empty
    COLUMN_ASKED = 32,      // leases: a text that the caller of acquire may set, by this name
    COLUMN_OR_NULL = 64,    // NULL in the database if empty
    COLUMN_STEERED = 128,   // boxes and GPUs: written when an administrator drains or undrains them
};

struct column {
    const char *name;
    enum column_kind kind;
    unsigned roles;
    size_t offset, size;
    const char *const *names;
};

// Each table ends with a row without a name.
extern const struct column box_columns[], gpu_columns[], lease_columns[], hold_columns[];

// The value of a column in the database: a text if `text` is set, a number, or NULL.
struct column_value {
    bool is_null;
    const char *text;
    int64_t number;
    char *owned; // NULL, or memory that the caller must free
};
struct column_value column_get(const struct column *column, const void *thing);
// Sets the member of `thing` to a value from the database. OUTCOME_DATABASE_DAMAGED: the value is
// invalid; OUTCOME_NO_MEMORY. A box or GPU that the pool does not know becomes NULL.
enum outcome column_set(const struct column *column, struct pool *pool,
                        const struct column_value *value, void *thing)
    __attribute__((warn_unused_result));
// Returns the value for the API, or NULL if it is empty and not shown.
json_t *column_to_json(const struct column *column, const struct column_value *value);

// Sets the members with role COLUMN_ASKED from an object; absent ones keep their values. Returns
// false if one is no text or too long.
bool columns_ask(const struct column *columns, const json_t *object, void *thing);
// Adds the columns with the role to `object`.
void columns_show(const struct column *columns, unsigned role, const void *thing, json_t *object);
// Copies the columns with the role from one thing to another, except owned texts and pointers into
// the pool.
void columns_copy(const struct column *columns, unsigned role, const void *from, void *to);

#endif
