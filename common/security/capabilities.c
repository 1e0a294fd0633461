// SPDX-License-Identifier: BSD-3-Clause
#include "common/security/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool capabilities_held(uint32_t needed)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct had[2];

    return !syscall(SYS_capget, &header, had) && (had[0].effective & needed) == needed;
}

int capabilities_keep(uint32_t kept)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct had[2], sets[2] = {{0}};

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &header, had))
        return -errno;
    sets[0].permitted = sets[0].effective = had[0].permitted & kept;
    return syscall(SYS_capset, &header, sets) ? -errno : 0;
}

int capabilities_drop(void)
{
    return capabilities_keep(0);
}
