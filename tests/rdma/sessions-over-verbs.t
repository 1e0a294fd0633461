#!/bin/bash
# How sessions over verbs come about, what they survive and how they end. seconds: 420
. "$(dirname "$0")/vm.sh"
in_vm 400 sessions.sh
