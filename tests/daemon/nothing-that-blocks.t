#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The supervisor's one thread asks no library that waits for somebody: not munge, not a driver, not verbs.
. "$(dirname "$0")/../lib.sh"
requires readelf

linked=$(readelf -d "$BUILD/bin/rgpud" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
like "$linked" '^libssl' "the list of libraries can be read"
unlike "$linked" 'munge|cuda|nvidia|verbs|rdmacm|sqlite' "none that waits for a daemon, a device or a disk is among them"
imported=$(readelf -W --dyn-syms "$BUILD/bin/rgpud" | awk '$7 == "UND" { sub(/@.*/, "", $8); print $8 }')
like "$imported" '^epoll_|^event_base_dispatch$' "the list of functions can be read"
unlike "$imported" '^(sleep|usleep|nanosleep|system|popen|pclose|flock|lockf|getpwuid|getgrnam|gethostbyname)$' \
    "and none that sleeps, starts a shell or asks a directory service while clients wait"
done_testing
