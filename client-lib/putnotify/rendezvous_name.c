// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/rendezvous_name.h"

#include <stdlib.h>

#include "common/security/ticket.h"
#include "client-lib/putnotify/rendezvous_boxes.h"
#include "client-lib/putnotify/rendezvous_file.h"

struct rendezvous_said {
    struct published_boxes *boxes; // NULL: a file
    struct rendezvous_file file;
};

// Finds the boxes to meet at. Without boxes, a file is used.
static bool has_boxes(struct ticket_bundle *bundle)
{
    const char *folder = secure_getenv("RGPU_TEAM_DIR");
    *bundle = (struct ticket_bundle){0};
    return !(folder && *folder) && !ticket_bundle_load_of_job(bundle) && bundle->count;
}

enum rgpu_result rendezvous_name_publish(const char *name, const struct rgpu_rendezvous *rendezvous,
                                         struct rendezvous_said **said)
{
    struct ticket_bundle bundle;
    struct rendezvous_said *made = calloc(1, sizeof(*made));
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a rendezvous");
    enum rgpu_result result =
        has_boxes(&bundle) ? rendezvous_boxes_publish(&bundle, name, rendezvous, &made->boxes)
                           : rendezvous_file_publish(name, rendezvous, &made->file);
    ticket_bundle_free(&bundle);
    if (result)
        free(made);
    else
        *said = made;
    return result;
}

void rendezvous_name_forget(struct rendezvous_said **said)
{
    if (!*said)
        return;
    if ((*said)->boxes)
        rendezvous_boxes_forget(&(*said)->boxes);
    else
        rendezvous_file_forget(&(*said)->file);
    free(*said);
    *said = NULL;
}

enum rgpu_result rendezvous_name_find(const char *name, unsigned tries, uint64_t deadline,
                                      struct rgpu_rendezvous *rendezvous, bool *heard)
{
    struct ticket_bundle bundle;
    *heard = false;
    enum rgpu_result result =
        has_boxes(&bundle)
            ? rendezvous_boxes_find(&bundle, name, tries, deadline, rendezvous, heard)
            : rendezvous_file_find(name, rendezvous, heard);
    ticket_bundle_free(&bundle);
    return result;
}
