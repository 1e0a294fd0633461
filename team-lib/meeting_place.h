// SPDX-License-Identifier: BSD-3-Clause
// Where the processes of a team find each other: a file that says where the one of member 0 is, under a name that belongs
// to the lease or the job. Only the user's own processes can read it.
#ifndef RGPU_TEAM_MEETING_PLACE_H
#define RGPU_TEAM_MEETING_PLACE_H

#include <stdint.h>

#include "common/control.h"
#include "common/sha256.h"

enum { PLACE_KEY = 32 };

struct meeting_place {
    char host[256]; // its name, or addresses with commas between them
    uint16_t port;
    uint8_t boot_id[CONTROL_BOOT_ID_BYTES]; // of the host's kernel
    uint8_t key[PLACE_KEY];                 // who knows it may come
};

// The path of the file for NAME. -ENAMETOOLONG.
int meeting_place_path(const char *name, char *path, size_t size);
// Says where this process is, with a new key. The descriptor of the file, which is to stay open until all have come;
// -EBUSY: another process is there already, -EPERM: the file is somebody else's; -errno.
int meeting_place_take(const char *path, struct meeting_place *place);
// What the file says. -ENOENT: nobody has come; -EPERM, -EBADMSG, -errno.
int meeting_place_read(const char *path, struct meeting_place *place);

#endif
