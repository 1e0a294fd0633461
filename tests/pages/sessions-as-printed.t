#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The sessions that pages print are run as they stand there, on software GPUs, and print what the pages say but for numbers
# (seconds: 600). What a page has for a Slurm cluster is run by slurm/sessions-as-printed.
. "$(dirname "$0")/../lib.sh"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "pages show the plain build"
[ "$(id -u)" = 0 ] || skip_all "a network of one's own needs root"
requires python3 unshare ip mount
if [ -z "${IN_PRIVATE:-}" ]; then
    tap_finished=yes
    rm -rf "$TMP"
    IN_PRIVATE=yes exec unshare --mount --net --propagation private "$0" "$@"
fi
ip link set lo up
printf '127.0.0.1 localhost gpu01 gpu02 broker\n' >"$TMP/hosts"
mount --bind "$TMP/hosts" /etc/hosts
cd "$TOP"
mapfile -t pages < <(grep -l '^<!-- on gpu01 -->' README.md docs/*.md docs/*/*.md)
ok "there are such pages" [ ${#pages[@]} -ge 4 ]
ok "README.md is short" [ "$(wc -l <README.md)" -lt 200 ]
for page in "${pages[@]}"; do
    dir=$TMP/${page//\//-}
    mkdir "$dir"
    cp "$BUILD"/examples/{vector,exchange} "$dir"
    while read -r line; do
        case $line in
        'ok - '*) pass "${line#ok - }" ;;
        'not ok - '*) fail "${line#not ok - }" ;;
        *) echo "$line" >&2 ;;
        esac
    done < <(cd "$dir" && env -u RGPU_BOXES -u RGPU_BROKER -u LD_LIBRARY_PATH PATH="$BUILD/bin:$PATH" COLUMNS=120 LC_ALL=C.UTF-8 LIBDIR="$BUILD/lib" \
        python3 -B "$TOP/tests/pages/consoles.py" "$TOP/$page" gpu01 2>&1)
done
done_testing
