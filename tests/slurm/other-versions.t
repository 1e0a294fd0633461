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

# public_headers SOURCE: those of a source that was not configured, and so lacks the one that says its version.
public_headers() {
    local made
    made=$(mktemp -d "$TMP/public.XXXXXX")
    cp -r "$1/slurm" "$made/"
    awk -F'[ \t:]+' '$2 == "Major" { a = $3 } $2 == "Minor" { b = $3 } $2 == "Micro" { c = $3 }
        END { printf "#define SLURM_VERSION_NUMBER ((%d << 16) + (%d << 8) + %d)\n", a, b, c }' "$1/META" >"$made/number"
    sed -i "s/^#undef SLURM_VERSION_NUMBER/$(cat "$made/number")/" "$made/slurm/slurm_version.h.in"
    mv "$made/slurm/slurm_version.h.in" "$made/slurm/slurm_version.h"
    echo "$made"
}

# compiles HEADERS PUBLIC: everything that knows Slurm against these headers, its source's and its public ones.
compiles() {
    local headers=$1 public=$2 version source sources plugin wanted there
    version=$(printf '#include <slurm/slurm_version.h>\nSLURM_VERSION_NUMBER' | "${compiler[@]}" -E -P -I"$public" - | tail -n 1)
    version=$(printf '%d.%02d.%d' $((version >> 16 & 255)) $((version >> 8 & 255)) $((version & 255)))
    # Also those that include Slurm's headers by another header.
    sources=$(cd "$TOP/slurm-plugin" && grep -l "slurm_headers.h\|<slurm/\|$(grep -l slurm_headers.h ./*.h base/*.h counts/*.h | sed 's|^./||' | paste -sd'|' | sed 's/|/\\|/g')" \
        ./*.c base/*.c counts/*.c sync/*.c | sed 's|^./||; s|\.c$||')
    for source in base/late $sources; do
        ok "$source with Slurm $version" "${compiler[@]}" -std=gnu11 -D_GNU_SOURCE \
            -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wno-unused-parameter -Werror -fPIC -fvisibility=hidden -I"$TOP" -I"$BUILD/gen" \
            -I"$TMP/generated" -isystem "$public" -isystem "$headers" \
            -c -o "$TMP/${source##*/}.o" "$TOP/slurm-plugin/$source.c"
    done
    declare -A loaded=([gres]=gres_rgpu [job_submit]=job_submit_late [prep]=prep_late)
    for plugin in gres job_submit prep; do
        wanted=$(for source in "$headers"/src/{interfaces,common,slurmctld}/"$plugin.c"; do
            [ ! -e "$source" ] || names "$source" "${plugin/gres/gres_p}"
        done)
        like "$wanted" . "what Slurm $version looks for in a plugin of $plugin"
        there=$(nm --defined-only "$TMP/${loaded[$plugin]}.o" 2>/dev/null | awk '{ print $3 }' | sort)
        is "$(comm -23 <(echo "$wanted") <(echo "$there"))" "" "all of it is there"
    done
}

for release in trixie; do
    headers=$("$TOP/scripts/slurm-headers" --fetch --release "$release" 2>"$TMP/fetch") || headers=
    if [ -n "$headers" ]; then
        compiles "$headers" "$headers/usr/include"
    else
        skip "Slurm of $release: $(tail -n 1 "$TMP/fetch")"
    fi
done
# Other sources that are on this machine, such as of the newest version.
for source in ${SLURM_SOURCES:-}; do
    compiles "$source" "$(public_headers "$source")"
done
done_testing
