#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bash, zsh and fish complete the command line of rgpuctl, with words that rgpuctl itself gives them.
. "$(dirname "$0")/../lib.sh"
unset RGPU_BROKER

mkdir "$TMP/path" "$TMP/here"
ln -s "$BUILD/bin/rgpuctl" "$TMP/path/rgpuctl"
touch "$TMP/here/a-key"
export PATH=$TMP/path:$PATH
cd "$TMP/here"
# in_SHELL WORD...: what the last word can become.
in_bash() {
    bash -c '. "$1"; COMP_WORDS=(rgpuctl "${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rgpuctl rgpuctl; printf "%s\n" "${COMPREPLY[@]}"' \
        sh "$TOP/admin-cli/rgpuctl.bash-completion" "$@"
}
# Its own functions need a terminal: what they are given is shown.
in_zsh() {
    zsh -f -c '_describe() { print -l -- "${(@P)2}" | sed "s/:.*//"; }; _files() { print -l -- *; }; _command_names() { print -l -- rgpuctl; }
        file=$1; shift; words=(rgpuctl "$@"); CURRENT=$#words; . "$file"' zsh "$TOP/admin-cli/rgpuctl.zsh-completion" "$@"
}
in_fish() {
    HOME=$TMP fish --no-config -c 'source $argv[1]; complete -C"$argv[2]"' "$TOP/admin-cli/rgpuctl.fish-completion" "rgpuctl $*" | cut -f 1
}

for shell in bash zsh fish; do
    if ! command -v $shell >/dev/null; then
        skip "$shell is not there"
        continue
    fi
    words() { "in_$shell" "$@" | sort | xargs; }
    is "$(words sess)" sessions "$shell: the commands"
    is "$(words sessions --js)" --json "a command's options"
    is "$(words run --transport t)" tcp "the words that an option takes"
    is "$(words mode s)" shared "and those that a command takes"
    is "$(words run --constraint min-)" "min-capability= min-memory=" "constraints"
    is "$(words boxes --key a)" a-key "files"
    like "$(words run -- rgpuc)" '(^| )rgpuctl' "and programs"
done
like "$(rgpuctl --complete run --m)" '^--mem'$'\t''a share of each' "each word has its meaning"
is "$(rgpuctl --complete nothing x)" "" "a command that is none has no words"
done_testing
