#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a settings file cannot mean is refused by both daemons with its line and the reason, for every setting that
# they have: times without a unit, intervals of nothing, keys that are given twice, and those that no section has.
. "$(dirname "$0")/../lib.sh"

# made DAEMON SED-SCRIPT: its sample file with each setting as the script makes it, and what the daemon says to it.
made() {
    "$BUILD/bin/$1" --print-config | sed -nE "s/^#([a-z_0-9]+) = .*/\1/; s/^#([a-z_0-9]+) =$/\1/; /^(\[|[a-z])/{ $2; p }" >"$TMP/$1.conf"
    said=$("$BUILD/bin/$1" --config "$TMP/$1.conf" 2>&1) && fail "$1 starts with $2"
    lines=$(grep -c "^[a-z]" "$TMP/$1.conf")
}
told() { grep -cE "$1" <<<"$said"; }

for daemon in rgpud rgpu-brokerd; do
    times=$("$BUILD/bin/$daemon" --help | grep -cE '^ *--[a-z-]+ TIME ')
    ok "$daemon has times" test "$times" -ge 2
    made $daemon 's/^([a-z].*)/\1 = 7/'
    is "$(told ':[0-9]+: [a-z_]+=7 is not (0 or )?a time with its unit such as')" "$times" "each of $daemon's times needs a unit"
    zero=$(told '=7 is not 0 or a time')
    made $daemon 's/^([a-z].*)/\1 = 0/'
    is "$(told ':[0-9]+: [a-z_]+=0 is not a time with its unit such as')" $((times - zero)) "$((times - zero)) of them are no time at all with 0"
    "$BUILD/bin/$daemon" --print-config | sed -nE 's/^#([a-z_0-9]+ =.*)/\1/; /^\[/p; /^[a-z]/{p;p}' >"$TMP/$daemon.conf"
    said=$("$BUILD/bin/$daemon" --config "$TMP/$daemon.conf" 2>&1) && fail "$daemon starts with keys given twice"
    is "$(told ':[0-9]+: [a-z_]+ in section \[[a-z]+\] was given before, on line [0-9]+')" "$(grep -c '^[a-z]' "$TMP/$daemon.conf" | awk '{ print $1 / 2 }')" "each of $daemon's keys can be given once"
    made $daemon 's/^([a-z].*)/\1x = 1/'
    is "$(told ':[0-9]+: unknown option [a-z_0-9]+x in section')" "$lines" "and keys that there are not are told"
done
"$BUILD/bin/rgpud" --print-config=developer | sed -nE 's/^#([a-z_0-9]+) = .*/\1 = 7/; /^(\[|[a-z])/p' >"$TMP/developer.conf"
said=$("$BUILD/bin/rgpud" --config "$TMP/developer.conf" 2>&1) && fail "rgpud starts with times without a unit"
ok "times of developer settings need a unit as well" [ "$(told '=7 is not (0 or )?a time with its unit')" -ge 10 ]
refused() { # refused DAEMON TEXT-OF-FILE REGEX
    local status=0
    printf '%b' "$2" >"$TMP/file"
    "$BUILD/bin/$1" --config "$TMP/file" >"$TMP/out" 2>&1 || status=$?
    ok "$1: $(tr "\n" " " <"$TMP/file")" test "$status" -gt 0
    like "$(cat "$TMP/out")" "$3" "is refused with the reason"
}
refused rgpu-brokerd '[pool]\nheartbeat = 15s\n' 'away_after must be twice heartbeat or more: one late report'
refused rgpu-brokerd '[pool]\naway_after = 9s\n' 'away_after must be twice heartbeat or more'
refused rgpu-brokerd '[tickets]\nlifetime = 20ms\n' 'lifetime must be a second or more'
refused rgpu-brokerd '[tickets]\nlifetime = 800h\n' 'max_ticket_lifetime must not be shorter'
refused rgpu-brokerd "[auth]\nadmins = root, nobody-of-this-name\n[broker]\nsocket =\nlisten = 127.0.0.1:0\nstate_dir = $TMP\n" 'admins: there is no user nobody-of-this-name'
refused rgpu-brokerd "[auth]\nschedulers = nobody-of-this-name\n[broker]\nsocket =\nlisten = 127.0.0.1:0\nstate_dir = $TMP\n" 'schedulers: there is no user nobody-of-this-name'
refused rgpu-brokerd '[broker]\nlog_level = loud\n' 'log_level=loud is not a level'
refused rgpud '[auth]\nauth = none\nprotection = privacy\n' 'protection=privacy needs auth=ticket'
done_testing
