#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A daemon starts with the settings of an earlier release: each that is gone is told, with its place and what has replaced it,
# and docs/admin/upgrade.md has it.
. "$(dirname "$0")/../lib.sh"

"$BUILD/bin/rgpu-brokerd" --make-key "$TMP/key" >/dev/null
# rows FILE: section and name of each setting that its table says is gone.
rows() { tr -d '\n' <"$TOP/$1" | grep -oE 'CONFIG_RETIRED\( *"[a-z]+", *"[a-z_]+"' | sed 's/[^"]*"\([a-z]*\)", *"\([a-z_]*\)"/\1 \2/'; }
# documented FILE: the same of docs/admin/upgrade.md.
documented() {
    sed -n '/^## Settings that are gone/,/^## What works/p' "$TOP/docs/admin/upgrade.md" |
        awk -F'|' -v file="\`$1\`" 'index($2, file) { gsub(/[` ]/, ""); n = split($4, names, ","); for (i = 1; i <= n; i++) print $3, names[i] }'
}
# gone FILE TABLE COMMAND...: what the daemon of that table says to a file with all of them.
gone() {
    local file=$1 table=$2 section name line=0
    shift 2
    rows "$table" >"$TMP/rows"
    ok "$file has had settings that are gone" test -s "$TMP/rows"
    is "$(documented "$file" | sort)" "$(sort "$TMP/rows")" "docs/admin/upgrade.md has those of $file"
    while read -r section name; do
        printf '[%s]\n%s = 64K\n' "$section" "$name"
    done <"$TMP/rows" >"$TMP/$file"
    printf '%b' "${needed-}" >>"$TMP/$file"
    status=0
    said=$("$@" --check-config 2>&1) || status=$?
    is $status 0 "a file that has them is in order"
    while read -r section name; do
        line=$((line + 2))
        like "$said" "warn: .*$file:$line: $name in section \[$section\] does nothing any more: .*; remove it" "and $name is told"
    done <"$TMP/rows"
}
gone rgpud.conf daemon/rgpud/box/box_settings.c "$BUILD/bin/rgpud" --config "$TMP/rgpud.conf" --devices sim:1 --key-file "$TMP/key" \
    --listen 127.0.0.1:0 --admin-socket "$TMP/admin.sock"
gone rgpu-brokerd.conf broker/http/broker_settings.c "$BUILD/bin/rgpu-brokerd" --config "$TMP/rgpu-brokerd.conf" --cluster-key "$TMP/key" \
    --state-dir "$TMP" --listen 127.0.0.1:0 --socket "$TMP/broker.sock" --schedulers root
if [ -x "$BUILD/bin/rgpu-slurm-sync" ]; then
    export RGPU_SLURM_CONF=$TMP/slurm.conf
    needed='[slurm]\nbroker = here:1\n' gone slurm.conf slurm-plugin/base/plugin_settings.c "$BUILD/bin/rgpu-slurm-sync"
else
    skip "rgpu-slurm-sync is not built: Slurm's headers are not there"
fi

printf '[workers]\ngpudirect_to_min = 64K\n[auth]\nauth = none\n' >"$TMP/old.conf"
start box "$BUILD/bin/rgpud" --config "$TMP/old.conf" --gpudirect-from-max 1M --devices sim:1 --listen 127.0.0.1:0 \
    --admin-socket "$TMP/s" --worker-program "$BUILD/tests/stub-worker"
ok "a box starts with them" await_line box ready
logs "$TMP/box.log" 'old.conf:2: gpudirect_to_min .*paths = one-sided in section \[box\]' "and says so in its log"
logs "$TMP/box.log" 'command line: --gpudirect-from-max: gpudirect_from_max' "also of its command line"
done_testing
