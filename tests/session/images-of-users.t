#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# seconds: 900
# Users' images: roots of Debian 11 and 12 with NVIDIA's paths and variables as its base images have them, in which programs
# find the client library as `rgpuctl run` and the Container Device Interface give it: with and without a user namespace, on read-only
# roots, and without /dev/shm. A driver of the image's own, as in /usr/local/cuda/compat, stays out of the way.
. "$(dirname "$0")/../pages/machines.sh"
requires debootstrap unshare bwrap
[ "$(id -u)" = 0 ] || skip_all "only root can make the roots of images"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "sanitizers need this system's own C library"
RELEASE=bullseye
build_machine older gcc libc6-dev libjansson4 libsmartcols1 libmunge2 libinih1
images=([11]="$MACHINE_older")
RELEASE=bookworm
build_machine plain
images[12]=$MACHINE_plain
sockets=$TMP/s
mkdir -m 0711 "$sockets"
chmod a+x "$TMP"
start_box --client-sockets "$sockets" --listen "127.0.0.1:0,unix:$sockets/box"

# A program that was compiled for the oldest image, and a driver that fails whoever loads it.
mkdir -m 755 "$TMP/programs" "$TMP/compat" "$TMP/lib"
cp "$BUILD/lib/libcuda.so.1" "$TMP/lib"
echo 'int cuInit(unsigned flags) { return 803; }' >"$TMP/driver.c"
# base VERSION: the folders of an image; others can be added.
base() {
    local root=${images[$1]}
    printf '%s\n' --ro-bind "$root/usr" /usr --ro-bind "$root/etc" /etc --symlink usr/bin /bin --symlink usr/lib /lib \
        --symlink usr/lib64 /lib64 --proc /proc --tmpfs /tmp
}
mapfile -t folders < <(base 11)
compile() { bwrap "${folders[@]}" --dev /dev --bind "$TMP" "$TMP" --ro-bind "$TOP" "$TOP" --ro-bind "$BUILD" "$BUILD" "$@"; }
ok "a program and a driver are compiled in Debian 11" compile sh -c "cd $TOP && gcc -D_GNU_SOURCE -std=gnu11 -O1 -pthread -I. -I$BUILD/gen \
    -o $TMP/programs/saxpy tests/programs/saxpy.c -L$BUILD/lib -l:libcuda.so.1 -lm -ldl &&
    gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o $TMP/compat/libcuda.so.1 $TMP/driver.c"

# image VERSION OPTION... -- COMMAND...: as NVIDIA's base images of CUDA are laid out.
image() {
    local options=() folders
    mapfile -t folders < <(base "$1")
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    bwrap "${folders[@]}" --tmpfs /run --tmpfs /usr/local --dir /usr/local/nvidia/lib \
        --dir /usr/local/nvidia/lib64 --ro-bind "$TMP/compat" /usr/local/cuda/compat --ro-bind "$TMP/programs" /usr/local/app \
        --ro-bind "$TMP/lib" /opt --ro-bind "$sockets" /run/rgpu-clients --setenv NVIDIA_VISIBLE_DEVICES all \
        --setenv NVIDIA_DRIVER_CAPABILITIES compute,utility --setenv CUDA_VERSION 12.4.1 "${options[@]}" --remount-ro / -- "$@"
}
library=(--setenv LD_LIBRARY_PATH /opt:/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/local/cuda/compat --setenv RGPU_LOG info)
own_users=(--unshare-user --uid 1234 --gid 1234)
no_shm=(--dir /dev --dev-bind /dev/null /dev/null --dev-bind /dev/urandom /dev/urandom)
image 12 --dev /dev "${own_users[@]}" -- true 2>"$TMP/err" || skip_all "no right to make containers here: $(cat "$TMP/err")"
runs() { # LABEL TRANSPORT VERSION OPTION...: the program computes there over this transport
    local label="Debian $3: $1" transport=$2 status=0
    image "${@:3}" "${library[@]}" -- /usr/local/app/saxpy >"$TMP/out" 2>&1 </dev/null || status=$?
    is "$status" 0 "$label: a program computes"
    like "$(cat "$TMP/out")" "transport=$transport" "$label: over $transport"
    [ "$status" = 0 ] || diag "$(tail -n 8 "$TMP/out")"
}
for version in 11 12; do
    like "$(image $version --dev /dev --setenv LD_LIBRARY_PATH /usr/local/cuda/compat -- /usr/local/app/saxpy 2>&1 || true)" \
        'undefined symbol: cu' "Debian $version: alone, the program meets the image's own driver"
    runs "as root of the host" shm $version --dev /dev --setenv RGPU_BOXES "$BOX"
    runs "a user namespace" shm $version --dev /dev "${own_users[@]}" --setenv RGPU_BOXES "$BOX"
    runs "all namespaces" shm $version --dev /dev --unshare-all "${own_users[@]}" --setenv RGPU_BOXES unix:/run/rgpu-clients/box
    runs "no /dev/shm" shm $version --tmpfs /dev "${no_shm[@]}" "${own_users[@]}" --setenv RGPU_BOXES "$BOX"
done

# ---- by rgpuctl run, from outside ----
mapfile -t folders < <(base 11)
out=$("$BUILD/bin/rgpuctl" run --box "$BOX" -- bwrap "${folders[@]}" --dev /dev --ro-bind "$TMP/programs" /app --ro-bind "$BUILD" "$BUILD" \
    /app/saxpy 2>&1) && status=0 || status=$?
is "$status" 0 "rgpuctl run hands its environment to a container's program"
[ "$status" = 0 ] || diag "$out"
done_testing
