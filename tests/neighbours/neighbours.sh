# SPDX-License-Identifier: BSD-3-Clause
# Builds other releases, whose clients and boxes meet those of this one: the release before from its commit
# (tests/neighbours/releases), and releases to come from this one's source with other lists.

NEIGHBOURS=$BUILD/neighbours
NEIGHBOUR_FILES=(build/lib/libcuda.so.1 build/bin/rgpud build/bin/rgpu-worker)
# The release before has no spawner.
NEXT_FILES=("${NEIGHBOUR_FILES[@]}" build/bin/rgpu-spawner)
# Programs of the release before that both releases run.
NEIGHBOUR_PROGRAMS=(saxpy copies rectangles pools modules callbacks threads pinned queries)
# Without optimization they are built in seconds.
MAKE_NEIGHBOUR=(env -u MAKEFLAGS -u MFLAGS make --no-print-directory "-j$(nproc)" CFLAGS=-O0 SAN= WERROR= V=)

# build_neighbour FOLDER [FILE...]: without files all that client and box are.
build_neighbour() {
    local folder=$1
    shift
    "${MAKE_NEIGHBOUR[@]}" -C "$folder" "${@:-${NEXT_FILES[@]}}" >"$TMP/make.log" 2>&1 ||
        { tail -n 20 "$TMP/make.log" >&2; bail "$folder cannot be built"; }
    ln -sf "$BUILD/lib/libcuda-sim.so" "$folder/build/lib/"
}

# build_previous: the last release with its own programs, once for each commit. Sets PREVIOUS, RELEASE.
build_previous() {
    local commit program
    read -r RELEASE commit <<<"$(tail -n 1 "$TOP/tests/neighbours/releases")"
    git -C "$TOP" cat-file -e "$commit^{commit}" 2>/dev/null ||
        skip_all "the commit of release $RELEASE is not in this clone: git fetch --unshallow brings it"
    PREVIOUS=$NEIGHBOURS/$RELEASE
    mkdir -p "$NEIGHBOURS"
    exec {neighbours_lock}>"$NEIGHBOURS/lock"
    flock "$neighbours_lock"
    if ! grep -qsx "$commit" "$PREVIOUS/built"; then
        rm -rf "$PREVIOUS" && mkdir -p "$PREVIOUS" && git -C "$TOP" archive "$commit" | tar x -C "$PREVIOUS"
        build_neighbour "$PREVIOUS" "${NEIGHBOUR_FILES[@]}" build/bin/rgpu-brokerd build/bin/rgpuctl
        for program in "${NEIGHBOUR_PROGRAMS[@]}"; do
            "${CC:-gcc}" -D_GNU_SOURCE -pthread -I"$PREVIOUS" -o "$PREVIOUS/build/$program" \
                "$PREVIOUS/tests/programs/$program.c" -L"$PREVIOUS/build/lib" -l:libcuda.so.1 -lm -ldl ||
                bail "$program of $RELEASE cannot be built"
        done
        echo "$commit" >"$PREVIOUS/built"
    fi
    exec {neighbours_lock}>&-
}

# build_other_call REQUEST: a client of this release with another form of a request, which goes by another number.
# Sets OTHER_CALL.
build_other_call() {
    local part
    OTHER_CALL=$TMP/other-call
    mkdir "$OTHER_CALL"
    for part in Makefile scripts proto common transport client-lib daemon; do cp -r "$TOP/$part" "$OTHER_CALL"; done
    sed -i 's/^VERSION := .*/VERSION := 98.7.6/' "$OTHER_CALL/Makefile"
    sed -i "s/^[0-9]\+ \( *[a-z,]* *$1 \)/999 \1/" "$OTHER_CALL/proto/cuda.spec"
    build_neighbour "$OTHER_CALL" build/lib/libcuda.so.1
}

# build_next: a release to come, in which each message is longer, too. Sets NEXT.
build_next() {
    NEXT=$TMP/next
    cp -a "$OTHER_CALL" "$NEXT"
    awk '/^message/ { client = $2 < 32 }
        client && /^(message|enum|# ---)/ && fields { print "    novelty string(31) later"; fields = 0 }
        /^message/ && client { fields = 1 }
        /^$/ && fields { print "    novelty string(31) later"; fields = 0 }
        { print }' "$TOP/proto/control.spec" >"$NEXT/proto/control.spec"
    build_neighbour "$NEXT"
}

# build_beyond: a copy of NEXT whose calls are another version. Sets BEYOND.
build_beyond() {
    BEYOND=$TMP/beyond
    cp -a "$NEXT" "$BEYOND"
    sed -i 's/^#define CALLS_VERSION .*/#define CALLS_VERSION 999/' "$BEYOND/build/gen/calls_version.h"
    build_neighbour "$BEYOND"
}

# start_box_of FOLDER: a box of that release.
start_box_of() { BUILD=$1/build start_box --devices sim:1; }
# with_client_of FOLDER PROGRAM...: with that release's library, on the box BOX.
with_client_of() {
    local folder=$1
    shift
    BUILD=$folder/build on_box "$@"
}
