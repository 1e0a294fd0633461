#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The plugins compile, without a warning, against the headers of Slurm of another release of Debian, and
# have every function that this Slurm looks for. seconds: 300
. "$(dirname "$0")/../lib.sh"
[ -z "${VALGRIND:-}${SAN:-}" ] || skip_all "nothing runs here"
requires apt-get
read -ra compiler <<<"${CC:-cc}"

# The names that SOURCE, a file of Slurm, looks up, those that begin with PREFIX.
names() { sed -n '/const char \*syms\[\]/,/};/p' "$1" | grep -o "\"$2[a-z_]*\"" | tr -d '"' | sort -u; }

mkdir -p "$TMP/generated"
printf '#define USE_ALIAS 1\n#define NDEBUG 1\n' >"$TMP/generated/config.h"
for release in trixie; do
    headers=$("$TOP/scripts/slurm-headers" --fetch --release "$release" 2>"$TMP/fetch") || headers=
    if [ -z "$headers" ]; then
        skip "Slurm of $release: $(tail -n 1 "$TMP/fetch")"
        continue
    fi
    number=$(sed -n 's/^#define SLURM_VERSION_NUMBER *//p' "$headers/usr/include/slurm/slurm_version.h")
    version=$(printf '%d.%02d.%d' $((number >> 16)) $((number >> 8 & 255)) $((number & 255)))
    # Also those that include Slurm's headers by another header.
    direct="slurm_headers.h\|<slurm/$(cd "$TOP/slurm-plugin" && grep -l slurm_headers.h ./*.h | sed 's|^\./|\\\||' | tr -d '\n')"
    for source in late job_switches $(cd "$TOP/slurm-plugin" && grep -l "$direct" ./*.c | sed 's|^./||; s|\.c$||'); do
        ok "$source with Slurm $version" "${compiler[@]}" -std=gnu11 -D_GNU_SOURCE \
            -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wno-unused-parameter -Werror -fPIC -fvisibility=hidden -I"$TOP" -I"$BUILD/gen" \
            -I"$TMP/generated" -isystem "$headers/usr/include" -isystem "$headers" \
            -c -o "$TMP/$source.o" "$TOP/slurm-plugin/$source.c"
    done
    declare -A loaded=([gres]=gres_rgpu [job_submit]=job_submit_late [prep]=prep_late)
    for plugin in gres job_submit prep; do
        wanted=$(names "$headers/src/interfaces/$plugin.c" "${plugin/gres/gres_p}")
        like "$wanted" . "what Slurm $version looks for in a plugin of $plugin"
        there=$(nm --defined-only "$TMP/${loaded[$plugin]}.o" 2>/dev/null | awk '{ print $3 }' | sort)
        is "$(comm -23 <(echo "$wanted") <(echo "$there"))" "" "all of it is there"
    done
done
done_testing
