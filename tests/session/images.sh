# SPDX-License-Identifier: BSD-3-Clause
# Images as users bring them: roots of Debian 11 and 12 with NVIDIA's paths and variables as its base images of CUDA have them.
#
#     make_images                             $TMP/programs/saxpy, compiled for the older image, is in both
#     container VERSION OPTION... -- COMMAND...      `container` becomes a command line that runs COMMAND there, on a read-only
#                                             root, with these options of bwrap
. "$TOP/tests/pages/roots.sh"

own_users=(--unshare-user --uid 1234 --gid 1234)
no_shm=(--dir /dev --dev-bind /dev/null /dev/null --dev-bind /dev/urandom /dev/urandom)

# The folders of an image; others can be added.
image_folders() {
    local root=${images[$1]}
    printf '%s\n' --ro-bind "$root/usr" /usr --ro-bind "$root/etc" /etc --symlink usr/bin /bin --symlink usr/lib /lib \
        --symlink usr/lib64 /lib64 --proc /proc --tmpfs /tmp
}

# A program and a driver of the image's own, which fails whoever loads it.
make_images() {
    local folders
    RELEASE=bullseye build_machine older gcc libc6-dev libjansson4 libsmartcols1 libmunge2 libinih1
    RELEASE=bookworm build_machine plain
    images=([11]="$MACHINE_older" [12]="$MACHINE_plain")
    mapfile -t folders < <(image_folders 11)
    mkdir -m 755 "$TMP/programs" "$TMP/compat"
    echo 'int cuInit(unsigned flags) { return 803; }' >"$TMP/driver.c"
    ok "a program and a driver are compiled in Debian 11" bwrap "${folders[@]}" --dev /dev --bind "$TMP" "$TMP" --ro-bind "$TOP" "$TOP" \
        --ro-bind "$BUILD" "$BUILD" sh -c "cd $TOP && gcc -D_GNU_SOURCE -std=gnu11 -O1 -pthread -I. -I$BUILD/gen \
        -o $TMP/programs/saxpy tests/programs/saxpy.c -L$BUILD/lib -l:libcuda.so.1 -lm -ldl &&
        gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o $TMP/compat/libcuda.so.1 $TMP/driver.c"
}

container() {
    local options=() folders
    mapfile -t folders < <(image_folders "$1")
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    container=(bwrap "${folders[@]}" --tmpfs /run --tmpfs /usr/local --dir /usr/local/nvidia/lib
        --dir /usr/local/nvidia/lib64 --ro-bind "$TMP/compat" /usr/local/cuda/compat --ro-bind "$TMP/programs" /usr/local/app
        --setenv NVIDIA_VISIBLE_DEVICES all --setenv NVIDIA_DRIVER_CAPABILITIES compute,utility --setenv CUDA_VERSION 12.4.1
        "${options[@]}" --remount-ro / "$@")
}
