#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each function of the client's libraries that makes a descriptor passes it through descriptor_own(), or through
# descriptor_own_briefly() if it closes it again, so that no socket of the library becomes the standard output of a program
# that has closed its own.
. "$(dirname "$0")/../lib.sh"
requires python3
is "$(python3 -B - "$TOP" <<'EOF'
import pathlib, re, sys
top = pathlib.Path(sys.argv[1])
folders = ["client-lib", "common", "transport"]
makes = re.compile(r"(?<![\w>.])(?:(?:socket|socketpair|accept4?|open|openat|memfd_create|eventfd|epoll_create1?|pipe2?|dup[23]?|"
                   r"timerfd_create|signalfd|inotify_init1?|fopen|opendir|syscall)\(|fcntl\([^;)]*F_DUPFD|ioctl\([^;]*_IOC_NEW)")
# fdpass_receive() owns what it has received; lift() makes descriptors for a child, above those that the child gets;
# link_loop_pair() is for tests.
others = {"common/base/descriptor.c", "common/base/spawn.c", "transport/shm/loop.c"}
owned = re.compile(r"descriptor_own(?:_briefly)?\(\s*(?:\(int\))?\s*$")
for folder in folders:
    for path in sorted((top / folder).rglob("*.c")):
        name = str(path.relative_to(top))
        text = re.sub(r"//[^\n]*", lambda m: " " * len(m.group()), path.read_text())
        for found in makes.finditer(text):
            rest = text[found.start():found.start() + 60]
            if name in others or owned.search(text[:found.start()]) or (
                    rest.startswith("syscall(") and not re.match(r"syscall\(SYS_(userfaultfd|pidfd|perf|memfd)", rest)):
                continue
            print(f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {rest.splitlines()[0]}")
EOF
)" "" "every descriptor is made by way of descriptor_own()"
done_testing
