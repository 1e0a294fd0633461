#!/bin/bash
# Hundreds of sessions over verbs, several at a time, leave nothing behind. seconds: 320
. "$(dirname "$0")/vm.sh"
in_vm 300 many.sh
