#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs with graphs run on the software GPU as on any.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
run=(natively)
for program in "$BUILD"/tests/programs/graph/*; do
    run_program "${program##*/}" "$program"
done
done_testing
