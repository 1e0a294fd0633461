// SPDX-License-Identifier: BSD-3-Clause
#include "common/security/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

    return abi < 0 ? 0 : (int)abi;
}

size_t landlock_rules_for(int abi, struct landlock_rules *out)
{
    // Rights of files came with versions 1 (thirteen), 2, 3 and 5 (one each); later ones are left
    // alone.
    unsigned rights = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;

    if (abi < 1)
        return 0;
    *out = (struct landlock_rules){
        .files = (UINT64_C(1) << rights) - 1,
        .network = 3, // binding and connecting of TCP sockets
        .scopes = 3,  // abstract unix sockets and signals of others
    };
    return abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
}
