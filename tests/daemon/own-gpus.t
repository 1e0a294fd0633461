#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A worker opens the device nodes of its client's GPUs, and no other GPU's: with stand-ins for NVIDIA's
# nodes and for what its kernel module tells of them, in a mount namespace of this test's own.
. "$(dirname "$0")/../lib.sh"
requires unshare mknod
[ "$(id -u)" = 0 ] && [ -d /proc/driver ] || skip_all "only root can make device nodes"
[ -z "${SAN:-}" ] || skip_all "the sanitizers' run-time needs more calls"

if [ -z "${IN_NAMESPACE:-}" ]; then
    trap - EXIT
    rm -rf "$TMP"
    IN_NAMESPACE=yes exec unshare --mount --propagation private "$0"
fi

chmod 755 "$TMP"
mkdir "$TMP/dev" "$TMP/driver"
mount -t tmpfs -o mode=755 tmpfs "$TMP/dev"
for node in null zero full random urandom; do cp -a "/dev/$node" "$TMP/dev/"; done
for node in nvidia0 nvidia1 nvidiactl nvidia-uvm; do mknod -m 666 "$TMP/dev/$node" c 1 3; done
ln -s /proc/self/fd "$TMP/dev/fd"
mount --move "$TMP/dev" /dev
mount -t tmpfs -o mode=755 tmpfs /proc/driver
for gpu in 40:1 41:0; do # the first GPU has the second node
    mkdir -p "/proc/driver/nvidia/gpus/0000:${gpu%:*}:00.0"
    printf 'Model: \t\t none\nDevice Minor: \t %s\n' "${gpu#*:}" >"/proc/driver/nvidia/gpus/0000:${gpu%:*}:00.0/information"
done

cp "$BUILD/tests/hostile-driver.so" "$BUILD/lib/libcuda-sim.so" "$TMP/driver/"
ln -s libcuda-sim.so "$TMP/driver/libcuda.so.1"
printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
export HOSTILE_NODES="/dev/nvidia0 /dev/nvidia1 /dev/nvidiactl" RGPU_SIM_DEVICES=2 RGPU_SIM_MEMORY=256M
start box "$BUILD/bin/rgpud" --standalone --devices cuda:all --driver "$TMP/driver/hostile-driver.so" \
    --listen 127.0.0.1:0 --auth ticket --key-file "$TMP/box.key" --name gpubox --transports tcp,shm
await_line box 'ready listen=([^ ]+) devices=2' || bail "the box did not start"
BOX=${BASH_REMATCH[1]}
mapfile -t gpus < <(sed -n 's/.*device ordinal=[01] uuid=\([^ ]*\).*/\1/p' "$TMP/box.log")

# session COUNT UUID...: the nodes that the worker of a session with that ticket can open.
session() {
    local count=$1
    shift
    : >"$TMP/box.log"
    RGPU_TICKET=$("$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" gpubox 3600 "$@")
    export RGPU_TICKET
    ok "a program with $count GPUs runs" env LD_LIBRARY_PATH="$BUILD/lib" "$BUILD/tests/programs/saxpy"
    await "the attempts" grep -q 'hostile: serving: attempts=' "$TMP/box.log"
    opened=$(sed -n 's/hostile: serving: node \(.*\): opened/\1/p' "$TMP/box.log" | tr '\n' ' ')
    refused=$(sed -n 's/hostile: serving: node \(.*\): Permission denied/\1/p' "$TMP/box.log" | tr '\n' ' ')
}
session 1 "${gpus[0]}"
is "$opened|$refused" "/dev/nvidia1 /dev/nvidiactl |/dev/nvidia0 " "the first GPU's client: its node and the common one"
session 1 "${gpus[1]}"
is "$opened|$refused" "/dev/nvidia0 /dev/nvidiactl |/dev/nvidia1 " "the second GPU's client: its own"
session 2 "${gpus[1]}" "${gpus[0]}"
is "$opened|$refused" "/dev/nvidia0 /dev/nvidia1 /dev/nvidiactl |" "the client of both: both"
done_testing
