#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The sample file, the manuals and the unit say what rgpu-slurm-sync and the plugins do.
. "$(dirname "$0")/../lib.sh"
sync=$BUILD/bin/rgpu-slurm-sync
[ -x "$sync" ] || skip_all "rgpu-slurm-sync is not built: there is no libslurm"

ok "the sample file is what rgpu-slurm-sync prints" diff "$TOP/config/slurm.conf" <("$sync" --print-config)
settings=$("$sync" --print-config | sed -n 's/^#\([a-z_]*\) =.*/\1/p' | sort)
documented=$(sed -n '/^\.Sh SETTINGS/,/^\.Sh ENVIRONMENT/s/^\.It Cm //p' "$TOP/docs/man/rgpu-slurm-sync.8" | sort)
is "$documented" "$settings" "the manual has every setting and no other"
for option in $(sed -n 's/^ *{"\(rgpu-[a-z]*\)",.*/\1/p' "$TOP/slurm-plugin/spank_rgpu.c"); do
    ok "docs/admin/slurm.md has --$option" grep -Eq -e "--$option[=\`]" "$TOP/docs/admin/slurm.md"
done
if command -v systemd-analyze >/dev/null; then
    sed 's|^ExecStart=.*|ExecStart=/bin/true|; /^Documentation=/d' \
        "$TOP/systemd/rgpu-slurm-sync.service.in" >"$TMP/rgpu-slurm-sync.service"
    is "$(systemd-analyze verify "$TMP/rgpu-slurm-sync.service" 2>&1)" "" "systemd finds nothing wrong with the unit"
else
    skip "systemd-analyze is not there"
fi
done_testing
