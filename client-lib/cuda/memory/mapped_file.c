// SPDX-License-Identifier: BSD-3-Clause
// See mapped_file.h. The kernel lists mappings in /proc/self/maps. It lets a process open the files
// of its own mappings there only with a capability that programs do not have. So this looks for the
// file by its path and among the program's open descriptors, and compares device and inode.
#include "client-lib/cuda/memory/mapped_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/ascii.h"
#include "common/base/descriptor.h"
#include "common/base/scope.h"

struct area {
    uint64_t start, end, offset;
    unsigned int major, minor;
    uint64_t inode;
    char access[5];
    char path[PATH_MAX];
};

static bool read_area(const char *line, struct area *area)
{
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &area->start,
               &area->end, area->access, &area->offset, &area->major, &area->minor, &area->inode,
               &path) < 7)
        return false;
    snprintf(area->path, sizeof(area->path), "%s", path ? line + path : "");
    area->path[strcspn(area->path, "\n")] = '\0';
    return true;
}

static bool mapped_file_is_shared(const struct area *area)
{
    return area->inode && area->access[0] == 'r' && area->access[1] == 'w' &&
           area->access[3] == 's';
}

static bool continues(const struct area *before, const struct area *area)
{
    return area->start == before->end && area->inode == before->inode &&
           area->major == before->major && area->minor == before->minor &&
           area->offset == before->offset + (before->end - before->start) &&
           mapped_file_is_shared(area);
}

// Finds the area that holds ADDRESS and that, with contiguous areas of the same file after it,
// reaches END.
static int find_area(uint64_t address, uint64_t end, struct area *found)
{
    SCOPED_FILE FILE *maps = descriptor_open_file("/proc/self/maps", "r");
    SCOPED_FREE char *line = NULL;
    struct area area, last = {0};
    size_t room = 0;
    if (!maps)
        return -errno;
    while (getline(&line, &room, maps) > 0) {
        if (!read_area(line, &area) || area.end <= address)
            continue;
        bool first = !last.end;
        if (first ? area.start > address || !mapped_file_is_shared(&area)
                  : !continues(&last, &area))
            return -ENXIO;
        if (first)
            *found = area;
        last = area;
        if (last.end >= end)
            return 0;
    }
    return -ENXIO;
}

static bool is_file_of(int fd, const struct area *area)
{
    struct stat status;
    return !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_ino == area->inode &&
           major(status.st_dev) == area->major && minor(status.st_dev) == area->minor;
}

static int open_path(const struct area *area)
{
    int fd = *area->path == '/'
                 ? descriptor_own(open(area->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK))
                 : -1;
    if (fd < 0)
        return -ENOENT;
    if (is_file_of(fd, area))
        return fd;
    close(fd);
    return -ENOENT;
}

// A file without a name, such as a memory file, may still be open in this process.
static int take_open_one(const struct area *area)
{
    DIR *list = descriptor_open_directory("/proc/self/fd");
    const struct dirent *entry;
    int found = -ENOENT;
    while (list && found < 0 && (entry = readdir(list))) {
        int fd = ascii_is_digit(*entry->d_name) ? atoi(entry->d_name) : -1;
        if (fd >= 0 && is_file_of(fd, area) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR)
            found = descriptor_own(fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_STANDARD));
    }
    if (list)
        closedir(list);
    // The program may have closed it meanwhile, and opened another file with the same number.
    if (found >= 0 && !is_file_of(found, area)) {
        close(found);
        return -ENOENT;
    }
    return found;
}

int mapped_file_open(uint64_t address, size_t size, uint64_t *offset)
{
    struct area area;
    int fd = find_area(address, address + size, &area);
    if (fd < 0)
        return fd;
    *offset = area.offset + (address - area.start);
    fd = open_path(&area);
    return fd >= 0 ? fd : take_open_one(&area);
}
