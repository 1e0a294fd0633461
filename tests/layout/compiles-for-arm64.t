#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# seconds: 1200
# Everything compiles for arm64 with Debian's cross compiler, and unit tests pass there under qemu. This needs the packages
# crossbuild-essential-arm64 and qemu-user, and those of the build for that architecture (dpkg --add-architecture arm64).
. "$(dirname "$0")/../lib.sh"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "nothing runs here"
requires aarch64-linux-gnu-gcc qemu-aarch64
[ -e /usr/lib/aarch64-linux-gnu/libevent.so ] || skip_all "the libraries of arm64 are missing"
tests=(common-settings common-endpoints ticket-keys ticket-bundle ticket-forgery ptx-integer-instructions ptx-float-instructions
    ptx-atomics-are-exact sim-memory-is-shared-between-processes transport-records)
compile() {
    make -C "$TOP" --no-print-directory -j"$(nproc)" CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar CFLAGS=-O1 B="build/arm64" \
        all "${tests[@]/#/build/arm64/tests/}"
}
ok "everything compiles" compile
for name in "${tests[@]}"; do
    ok "$name passes under qemu" qemu-aarch64 "$TOP/build/arm64/tests/$name"
done
is "$(qemu-aarch64 "$TOP/build/arm64/bin/rgpuctl" --version)" "rgpuctl $(sed -n 's/^VERSION := //p' "$TOP/Makefile")" "rgpuctl runs there"
done_testing
