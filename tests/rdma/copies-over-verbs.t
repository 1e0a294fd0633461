#!/bin/bash
# Copies of every size and alignment over verbs. seconds: 420
. "$(dirname "$0")/vm.sh"
in_vm 400 copies.sh
