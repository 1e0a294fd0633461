#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is loaded into programs, and what runs on every node (rgpuctl, the plugins for Slurm's daemons), needs no symbol of the C
# library that is younger than the floor (scripts/make/config.mk), and the first no other library.
. "$(dirname "$0")/../lib.sh"
requires objdump readelf nm
[ -z "${SAN:-}" ] || skip_all "sanitizers need this system's own C library"
floor=$(sed -n 's/^GLIBC_FLOOR := //p' "$TOP/scripts/make/config.mk")
youngest() { objdump -T "$1" | grep -o 'GLIBC_2\.[0-9]*' | sed 's/GLIBC_//' | sort -V | tail -n 1; }
for file in "$BUILD"/lib/{libcuda.so.1,libnvidia-ml.so.1,librgpu.so.1,libcupti.so.12,libcupti.so.13,nccl/libnccl.so.2} "$BUILD/bin/rgpuctl" \
    "$BUILD"/lib/slurm/*.so; do
    [ -e "$file" ] || continue
    is "$(printf '%s\n' "$(youngest "$file")" "$floor" | sort -V | tail -n 1)" "$floor" "${file#"$BUILD"/} runs with glibc $floor"
    # Headers of glibc 2.38 and later give these functions names that older ones lack; client-lib/floor has those of the rest.
    unlike "$(nm -D --undefined-only "$file")" ' (__isoc99_v?f?scanf|__isoc99_v?f?w[a-z]*|strto[iu]max|wcsto[a-z]*)@' \
        "and can be linked where the C library is younger"
    [[ $file == */slurm/* || $file == */bin/* ]] ||
        is "$(readelf -d "$file" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
            grep -vE '^(lib(c|m|dl|rt|pthread)\.so|ld-linux|libcuda\.so\.1$)')" "" "and needs nothing else"
done
done_testing
