#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# (seconds: 900) Client and box of neighbouring releases work together, what one does not know is refused by name, and releases that
# cannot work together are told so at both ends.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
. "$TOP/tests/neighbours/neighbours.sh"
requires git python3
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "other releases are not built with sanitizers"
THIS=$TOP
[ "$BUILD" = "$TOP/build" ] || bail "this release is expected in $TOP/build"
build_previous
build_other_call cuCtxGetCacheConfig
build_next
build_beyond

# meet WORDS CLIENT TRANSPORT PROGRAM...: programs of the release before, on BOX.
meet() {
    local words="$1, $3" program
    run=(with_client_of "$2" RGPU_TRANSPORT="$3")
    shift 3
    for program; do run_program "$words: $program" "$PREVIOUS/build/$program"; done
}

start_box_of "$THIS"
this=$BOX this_log=$BOX_LOG
meet "a client of $RELEASE on a box of this release" "$PREVIOUS" shm copies pinned
meet "a client of $RELEASE on a box of this release" "$PREVIOUS" tcp "${NEIGHBOUR_PROGRAMS[@]}"
meet "a client to come on a box of this release" "$NEXT" tcp saxpy copies
out=$(with_client_of "$THIS" "$BUILD/tests/one-call" 2>&1 || true)
is "$out" "0 0 0" "client and box of this release know the call"
out=$(with_client_of "$NEXT" "$BUILD/tests/one-call" 2>"$TMP/err" || true)
is "$out" "801 801 0" "the call that a client knows in another form than the box is refused, and no other"
is "$(grep -c '' "$TMP/err")" 1 "the user is told once"
like "$(cat "$TMP/err")" 'rgpu: box .* is of rgpu [0-9.]+, which does not know cuCtxGetCacheConfig as this library \(rgpu 98.7.6\) .*upgrade rgpu-box' \
    "of both releases, and what to upgrade"

start_box_of "$PREVIOUS"
meet "a client of this release on a box of $RELEASE" "$THIS" shm copies pinned
meet "a client of this release on a box of $RELEASE" "$THIS" tcp "${NEIGHBOUR_PROGRAMS[@]}"
out=$(with_client_of "$OTHER_CALL" "$BUILD/tests/one-call" 2>"$TMP/err" || true)
is "$out" "801 801 0" "a box that does not say what it knows gets no request that its release lacks"
like "$(cat "$TMP/err")" "is of rgpu $RELEASE, which does not know cuCtxGetCacheConfig .*upgrade rgpu-box" "and the user is told"

start_box_of "$NEXT"
for transport in shm tcp; do meet "a client of this release on a box to come" "$THIS" $transport saxpy copies; done
out=$(with_client_of "$THIS" "$BUILD/tests/one-call" 2>"$TMP/err" || true)
is "$out" "801 801 0" "a box to come gets no request in a form that it does not know"

# apart WORDS CLIENT LOG OLDER NEWER UPGRADE: client and BOX do not understand each other.
apart() {
    local status=0
    with_client_of "$2" "$PREVIOUS/build/saxpy" >/dev/null 2>"$TMP/err" || status=$?
    ok "$1: no session is opened" [ $status != 0 ]
    like "$(cat "$TMP/err")" "rgpu: box .*client library on .* is of rgpu $4 .*calls version [0-9]+, box .* of rgpu $5 .*: upgrade $6 on" \
        "$1: the user is told both releases, and what to upgrade"
    like "$(cat "$3")" "client refused .*code=version .*client library on .* is of rgpu $4 .* of rgpu $5 .*: upgrade $6 on" \
        "$1: and so is the box's log"
}
any='[0-9.]+'
BOX=$this
apart "a client from beyond" "$BEYOND" "$this_log" 98.7.6 "$any" rgpu-box
start_box_of "$BEYOND"
apart "a box from beyond" "$THIS" "$BOX_LOG" "$any" 98.7.6 rgpu-client
apart "a box from beyond and a client of $RELEASE" "$PREVIOUS" "$BOX_LOG" "$RELEASE[0-9.]*" 98.7.6 rgpu-client
done_testing
