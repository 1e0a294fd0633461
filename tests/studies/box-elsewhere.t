#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A study may have its box on another machine: boxes, native programs and what loads the box's processors run there, by ssh;
# programs that use the box run here; and nothing is left there when the run ends. The other machine is this one behind a real
# sshd, which each connection has for itself.
. "$(dirname "$0")/../lib.sh"
requires python3 ssh ssh-keygen /usr/sbin/sshd
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd # where an sshd of user 0 puts those who have not logged in yet
for key in host user; do ssh-keygen -q -t ed25519 -N "" -f "$TMP/$key"; done
# What runs there has the environment of a login and none of ours.
cat >"$TMP/there" <<END
#!/bin/sh
${ASAN_OPTIONS:+export ASAN_OPTIONS="$ASAN_OPTIONS"}
echo "\$SSH_ORIGINAL_COMMAND" >>"$TMP/said"
case "\$SSH_ORIGINAL_COMMAND" in *bin/rgpud*--listen*) echo \$\$ >>"$TMP/pids" ;; esac
exec sh -c "\$SSH_ORIGINAL_COMMAND"
END
chmod +x "$TMP/there"
cat >"$TMP/sshd_config" <<END
HostKey $TMP/host
AuthorizedKeysFile $TMP/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
ForceCommand $TMP/there
END
cat >"$TMP/ssh_config" <<END
IdentityFile $TMP/user
StrictHostKeyChecking accept-new
UserKnownHostsFile $TMP/known
Host gpubox
    ProxyCommand /usr/sbin/sshd -i -f $TMP/sshd_config 2>>$TMP/sshd.log
Host nowhere
    ProxyCommand false
END
ok "sshd lets us in" ssh -F "$TMP/ssh_config" -o BatchMode=yes gpubox true || diag "$(cat "$TMP/sshd.log")"
run() { "$TOP/bench/studies/run" --build "$BUILD" --miniature --box-shell "ssh -F $TMP/ssh_config -o BatchMode=yes" "$@" 2>"$TMP/err"; }

ok "it runs" run --box gpubox --box-address 127.0.0.1 --output "$TMP/run" kernels processors
diag "$(grep failed "$TMP/err" || true)"
is "$(grep -c '"status": "failed"' "$TMP/run/results.jsonl")" 0 "nothing fails"
like "$(cat "$TMP/run/results.jsonl")" '"column": "shm", "why": "box and programs are on two machines"' "shared memory has no place in it"
like "$(cat "$TMP/run/results.jsonl")" '"column": "native".*"figure": "time"' "there are native figures"
like "$(cat "$TMP/run/results.jsonl")" '"column": "tcp".*"figure": "time"' "and figures of the box"
like "$(cat "$TMP/run/results.jsonl")" '"box": "gpubox"' "the results say where the box was"
like "$(cat "$TMP/said")" 'bin/rgpud .*--listen 0.0.0.0:0' "the box ran there"
like "$(cat "$TMP/said")" 'two_kernels saxpy' "native programs too"
like "$(cat "$TMP/said")" 'cpu_sgemm' "and the load of its processors"
unlike "$(grep two_kernels "$TMP/said")" RGPU_BOXES "but none that uses the box"
# Each server there wrote its process first.
left() { for pid in $(cat "$TMP/pids"); do ! kill -0 "$pid" 2>/dev/null || echo "$pid"; done; }
ended() { [ -z "$(left)" ]; }
ok "boxes were started there" [ -s "$TMP/pids" ]
ok "and have ended with the run" await "the boxes there end" ended
fails "a machine that does not answer is refused" run --box nowhere --output "$TMP/none" kernels
like "$(cat "$TMP/err")" 'nowhere does not run .*rgpud: it must let us in by ssh' "with what it must do"
done_testing
