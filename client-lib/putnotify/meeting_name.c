// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/meeting_name.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/security/sha256.h"
#include "common/security/ticket.h"
#include "client-lib/putnotify/meeting_boxes.h"
#include "client-lib/putnotify/meeting_file.h"

struct meeting_said {
    struct boxes_told *boxes; // NULL: a file
    struct meeting_file file;
};

// Finds the boxes to meet at. Without boxes, a file is used.
static bool has_boxes(struct ticket_bundle *bundle)
{
    const char *folder = secure_getenv("RGPU_TEAM_DIR");
    *bundle = (struct ticket_bundle){0};
    return !(folder && *folder) && !ticket_bundle_load_of_job(bundle) && bundle->count;
}

enum rgpu_result meeting_name_say(const char *name, const struct rgpu_meeting *meeting,
                                  struct meeting_said **said)
{
    struct ticket_bundle bundle;
    struct meeting_said *made = calloc(1, sizeof(*made));
    if (!made)
        return failure(RGPU_ERROR_MEMORY, "no memory for a meeting");
    enum rgpu_result result = has_boxes(&bundle)
                                  ? meeting_boxes_say(&bundle, name, meeting, &made->boxes)
                                  : meeting_file_say(name, meeting, &made->file);
    ticket_bundle_free(&bundle);
    if (result)
        free(made);
    else
        *said = made;
    return result;
}

void meeting_name_forget(struct meeting_said **said)
{
    if (!*said)
        return;
    if ((*said)->boxes)
        meeting_boxes_forget(&(*said)->boxes);
    else
        meeting_file_forget(&(*said)->file);
    free(*said);
    *said = NULL;
}

enum rgpu_result meeting_name_hear(const char *name, unsigned tries, uint64_t deadline,
                                   struct rgpu_meeting *meeting, bool *heard)
{
    struct ticket_bundle bundle;
    *heard = false;
    enum rgpu_result result =
        has_boxes(&bundle) ? meeting_boxes_hear(&bundle, name, tries, deadline, meeting, heard)
                           : meeting_file_hear(name, meeting, heard);
    ticket_bundle_free(&bundle);
    return result;
}
