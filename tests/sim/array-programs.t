#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs with arrays run on the software GPU as on any.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
run=(natively)
for program in "$BUILD"/tests/programs/array/*; do
    run_program "${program##*/}" "$program"
done
done_testing
