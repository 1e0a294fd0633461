#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# seconds: 1200
# Everything compiles for arm64 with Debian's cross compiler. Under qemu unit tests pass there, and programs compute on a box of this
# machine's processor. This needs the packages crossbuild-essential-arm64 and qemu-user, and those of the build for that
# architecture (dpkg --add-architecture arm64).
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "nothing runs here"
requires aarch64-linux-gnu-gcc qemu-aarch64
[ -e /usr/lib/aarch64-linux-gnu/libevent.so ] || skip_all "the libraries of arm64 are missing"
tests=(common-settings common-endpoints ticket-keys ticket-bundle ticket-forgery ptx-integer-instructions ptx-float-instructions
    ptx-atomics-are-exact sim-memory-is-shared-between-processes transport-records)
programs=$(cd "$TOP/tests/programs" && printf '%s\n' *.c | sed 's/\.c$//' | grep -vE '^(graph|array)-')
compile() {
    # shellcheck disable=SC2086
    make -C "$TOP" --no-print-directory -j"$(nproc)" CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar CFLAGS=-O1 B="build/arm64" \
        all "${tests[@]/#/build/arm64/tests/}" $(sed 's|^|build/arm64/tests/programs/|' <<<"$programs")
}
ok "everything compiles" compile
for name in "${tests[@]}"; do
    ok "$name passes under qemu" qemu-aarch64 "$TOP/build/arm64/tests/$name"
done
is "$(qemu-aarch64 "$TOP/build/arm64/bin/rgpuctl" --version)" "rgpuctl $(sed -n 's/^VERSION := //p' "$TOP/Makefile")" "rgpuctl runs there"

# qemu has no userfaultfd, no second mapping by mremap(), and no madvise() that touches pages: without them there is no managed memory,
# and memory that cannot be page-locked is not recognized.
start_box
BUILD=$TOP/build/arm64 emulator=qemu-aarch64
for transport in shm tcp; do
    run=(on_box RGPU_TRANSPORT="$transport")
    run_programs managed managed-random managed-several managed-system managed-variables registered
done
done_testing
