#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The broker's sample file, manual, unit and API description say what the program does.
. "$(dirname "$0")/../lib.sh"

brokerd=$BUILD/bin/rgpu-brokerd
ok "the sample file is what the broker prints" diff "$TOP/config/rgpu-brokerd.conf" <("$brokerd" --print-config)
settings=$("$brokerd" --print-config | sed -n 's/^#\([a-z_]*\) =.*/\1/p')
documented=$(sed -n '/^\.Sh SETTINGS/,/^\.Sh SIGNALS/s/^\.It Cm //p' "$TOP/docs/man/rgpu-brokerd.8" | sort)
is "$documented" "$(sort <<<"$settings")" "rgpu-brokerd.8 has every setting and no other"
sed 's/^#\([a-z_]* =\)/\1/' "$TOP/config/rgpu-brokerd.conf" >"$TMP/all.conf"
start broker "$brokerd" --config "$TMP/all.conf" --listen 127.0.0.1:0 --socket "$TMP/s" --state-dir "$TMP" --cluster-key ""
ok "the sample file with every line in force is accepted" await_line broker ready
fails "an unknown setting is refused" "$brokerd" --config <(echo '[broker]'; echo 'colour = red')

undocumented=
for kind in $(grep -oh '\.kind = [^,]*"[a-z.]*"' "$TOP"/broker/*.c | grep -o '"[a-z.]*"' | tr -d '"' | sort -u); do
    grep -q "\`$kind\`" "$TOP/docs/reference/broker-api.md" || undocumented+=" $kind"
done
is "$undocumented" "" "every kind of event is in the API's description"
undocumented=
codes=$(sed -n 's/^ *ROW(OUTCOME_[A-Z_]*, [45][0-9]*, "\([a-z-]*\)".*/\1/p' "$TOP/broker/pool/outcome.h" | sort -u)
ok "the table of outcomes has codes" [ "$(wc -l <<<"$codes")" -gt 20 ]
for code in $codes; do
    grep -q "\`$code\`" "$TOP/docs/reference/broker-api.md" || undocumented+=" $code"
done
is "$undocumented" "" "every error code is in the API's description"

if command -v systemd-analyze >/dev/null; then
    sed 's|=@SBINDIR@/.*|=/bin/true|; /^Documentation=/d; s|@[A-Z]*@||' \
        "$TOP/systemd/rgpu-brokerd.service.in" >"$TMP/rgpu-brokerd.service"
    is "$(systemd-analyze verify "$TMP/rgpu-brokerd.service" 2>&1)" "" "systemd finds nothing wrong with the unit"
    sed 's|=@LIBEXECDIR@/.*|=/bin/true|; /^Documentation=/d' "$TOP/systemd/rgpu-usage-report.service.in" >"$TMP/rgpu-usage-report.service"
    sed '/^Documentation=/d' "$TOP/systemd/rgpu-usage-report.timer" >"$TMP/rgpu-usage-report.timer"
    is "$(systemd-analyze verify "$TMP/rgpu-usage-report.timer" 2>&1)" "" "nor with the report's"
    ok "and its exposure is low" systemd-analyze security --offline=true --threshold=15 "$TMP/rgpu-brokerd.service"
    for unit in service timer; do
        sed -e '/^Documentation=/d' -e "s|@SBINDIR@|$BUILD/bin|" -e "s|@SYSCONFDIR@|/etc|" "$TOP/systemd/rgpu-broker-backup.$unit.in" >"$TMP/rgpu-broker-backup.$unit"
    done
    is "$(systemd-analyze verify "$TMP/rgpu-broker-backup.timer" 2>&1)" "" "nor with the timer of copies"
    is "$(systemd-analyze verify "$TMP/rgpu-broker-backup.service" 2>&1)" "" "and its unit"
    ok "whose exposure is lower" systemd-analyze security --offline=true --threshold=12 "$TMP/rgpu-broker-backup.service"
    printf '[broker]\nstate_dir = %s\n' "$TMP/pool" >"$TMP/copied.conf"
    mkdir "$TMP/pool" "$TMP/copies"
    start copied "$BUILD/bin/rgpu-brokerd" --config "$TMP/copied.conf" --listen 127.0.0.1:0 --socket "$TMP/copied.sock" --munge no
    await_line copied 'is ready' || bail "no broker"
    command=$(sed -n 's/^ExecStart=//p' "$TMP/rgpu-broker-backup.service" | sed -e 's/\$\$/$/g; s/%%/%/g' -e "s|/etc/rgpu/rgpu-brokerd.conf|$TMP/copied.conf|")
    ok "its command makes a copy" env STATE_DIRECTORY="$TMP/copies" sh -c "$command"
    is "$(find "$TMP/copies" -name 'pool-[0-2][0-9].sqlite' | wc -l)" 1 "named by the hour"
else
    skip "systemd-analyze is not there"
fi
done_testing
