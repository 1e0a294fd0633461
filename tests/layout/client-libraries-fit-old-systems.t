#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is loaded into programs asks for nothing that Enterprise Linux 8 does not have: no symbol of the C library above the
# floor, and no other library.
. "$(dirname "$0")/../lib.sh"
requires readelf
[ -z "${SAN:-}" ] || skip_all "sanitizers need this system's own C library"
floor=$(sed -n 's/^GLIBC_FLOOR := //p' "$TOP/scripts/make/config.mk")
for library in libcuda.so.1 libnvidia-ml.so.1 librgpu.so.1 nccl/libnccl.so.2 libcupti.so.12 libcupti.so.13; do
    newest=$(readelf --wide --dyn-syms "$BUILD/lib/$library" | grep -o 'GLIBC_[0-9.]*' | cut -d_ -f2 | sort -uV | tail -n 1)
    is "$(printf '%s\n' "$newest" "$floor" | sort -V | tail -n 1)" "$floor" "$library needs the C library $newest, and no newer one than $floor"
    is "$(readelf --dynamic "$BUILD/lib/$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(lib(c|pthread|dl|rt)\.so|ld-linux|libcuda\.so\.1)' || true)" "" "$library needs no other library"
done
done_testing
