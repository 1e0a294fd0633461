#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sessions that lose their connection over verbs, in several ways and under load, go on over new queue pairs. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 lost.sh
