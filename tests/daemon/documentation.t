#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sample file, manuals and unit say what the programs do.
. "$(dirname "$0")/../lib.sh"

rgpud=$BUILD/bin/rgpud rgpuctl=$BUILD/bin/rgpuctl
ok "the sample file is what rgpud prints" diff "$TOP/config/rgpud.conf" <("$rgpud" --print-config)
sed 's/^#\([a-z_]* =\)/\1/; /^key_file/s/=.*/= /; s/^auth =.*/auth = none/' "$TOP/config/rgpud.conf" >"$TMP/all.conf"
settings=$("$rgpud" --print-config | sed -n 's/^#\([a-z_]*\) =.*/\1/p')
help=$("$rgpud" --help)
for name in $settings; do
    grep -q "^\.It Cm $name\$" "$TOP/docs/man/rgpud.8" || fail "rgpud.8 lacks $name"
    grep -q -- "--${name//_/-} " <<<"$help" || fail "--help lacks $name"
done
pass "every setting is in rgpud.8 and in --help"
# documented FROM TO: the settings between two headings of the manual.
documented() { sed -n "/^\.Sh $1/,/^\.Sh $2/s/^\.It Cm //p" "$TOP/docs/man/rgpud.8" | sort; }
is "$(documented SETTINGS DEVELOPER)" "$(sort <<<"$settings")" "rgpud.8 has no setting that does not exist"
ok "there are few enough to read" [ "$(wc -l <<<"$settings")" -le 45 ]
developer=$("$rgpud" --print-config=developer | sed -n 's/^#\([a-z_]*\) =.*/\1/p' | sort)
is "$(documented "DEVELOPER SETTINGS" SIGNALS)" "$developer" "those of developers are in rgpud.8 apart from others"
unlike "$help" "--$(head -n 1 <<<"${developer//_/-}") " "and not in --help"
start box "$rgpud" --config "$TMP/all.conf" --devices sim:1 --listen 127.0.0.1:0 --admin-socket "$TMP/s" \
    --worker-program "$BUILD/tests/stub-worker"
ok "the sample file with every line in force is accepted" await_line box ready

for command in $("$rgpuctl" --complete "" | cut -f 1); do
    grep -Eq "^\.(It )?Cm (.* )?$command( |\$)" "$TOP/docs/man/rgpuctl.1" || fail "rgpuctl.1 lacks $command"
    "$rgpuctl" "$command" --help | grep -q "^usage: rgpuctl $command " || fail "$command --help"
    for option in $("$rgpuctl" --complete "$command" - | cut -f 1 | grep -vx -e --); do
        grep -q -- "Fl -${option#--}\( \|\$\)" "$TOP/docs/man/rgpuctl.1" || fail "rgpuctl.1 lacks $command $option"
    done
done
pass "every command and option is in rgpuctl.1 and has help"
carried=$(sed -n 's/^\([0-9]*\) functions .*, \([0-9]*\) carried.*/\2 \1/p' "$BUILD/docs/api-coverage.md")
is "$(sed -n 's/.*Of the \([0-9]*\) functions of the CUDA Driver API .* \([0-9]*\) are carried.*/\2 \1/p' "$TOP/docs/reference/limits.md")" "$carried" \
    "limits.md has the number of calls that are carried"
is "$(sed -n 's/.*\[\([0-9]*\) of its \([0-9]*\) functions\].*/\1 \2/p' "$TOP/README.md")" "$carried" "so has the README"
if command -v mandoc >/dev/null; then
    for page in "$TOP"/docs/man/*.[0-9]; do
        is "$(mandoc -Tlint -W warning "$page" 2>&1)" "" "${page##*/} is well-formed"
    done
else
    skip "mandoc is not there"
fi

if command -v systemd-analyze >/dev/null; then
    for unit in rgpu-workers rgpud rgpu-brokerd rgpu-slurm-sync; do
        sed 's%=@\(SBINDIR\|LIBEXECDIR\)@/.*%=/bin/true%; /^Documentation=/d' "$TOP/systemd/$unit.service.in" >"$TMP/$unit.service"
        # Units of others, such as slurmctld.service, need not be there.
        is "$(SYSTEMD_UNIT_PATH=$TMP: systemd-analyze verify "$TMP/$unit.service" 2>&1 | grep -F "$unit.service")" "" \
            "systemd finds nothing wrong with $unit.service"
        like "$(cat "$TOP/systemd/$unit.service.in")" '^StartLimitIntervalSec=0$' "which starts it again for as long as it fails"
        most=15
        [ $unit != rgpu-workers ] || most=22
        ok "and its exposure is at most $most tenths" \
            systemd-analyze security --offline=true --threshold=$most "$TMP/$unit.service"
    done
    # What remains of the unit that has rights has its reason in the manual.
    without=
    while read -r name; do
        grep -Fq "| \`${name//|/\\|}\` |" "$TOP/docs/admin/security.md" || without+=" $name"
    done < <(systemd-analyze security --offline=true --no-pager "$TMP/rgpu-workers.service" | sed -n 's/^✗ \([^ ]*\).*/\1/p')
    is "$without" "" "docs/admin/security.md says why rgpu-workers.service is exposed where it is"
else
    skip "systemd-analyze is not there"
fi
done_testing
