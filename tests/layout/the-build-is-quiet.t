#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A build says one short line for each file, all commands with V=1, and nothing of a compiler that is not
# installed yet.
. "$(dirname "$0")/../lib.sh"
requires make
unset MAKEFLAGS MAKELEVEL MFLAGS

mkdir -p "$TMP/tree" "$TMP/bin"
(cd "$TOP" && tar c --exclude=./build --exclude=./.git .) | tar x -C "$TMP/tree"
cd "$TMP/tree"
target=build/lib/rgpudriver.a
out=$(make SAN= "$target" 2>&1)
like "$out" '^  CC   common/driver/' "a line for a file that is compiled"
like "$out" '^  GEN  gen/' "one for what is generated"
like "$out" '^  AR   lib/rgpudriver.a' "one for a library"
is "$(grep -vE '^  [A-Z]+ +[^ ]+$' <<<"$out")" "" "and nothing else"
rm -rf build
like "$(make SAN= V=1 "$target" 2>&1)" '^[^ ]*cc .* -c -o build/obj/common/driver/' "V=1 shows the commands"

for tool in bash sh make sed grep cat ls dirname uname nproc python3 tr env awk cut; do
    ln -s "$(command -v $tool)" "$TMP/bin/"
done
is "$(PATH=$TMP/bin make -n clean 2>&1 | grep -v '^rm')" "" "without a compiler nothing is said before one is needed"
done_testing
