#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unmodified programs run on the software GPU itself, without a box: what the same programs show
# through a box is compared with this.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
run=(natively)
export RGPU_SIM_DEVICES=2
# These two are about the library that stands in for the driver.
run_programs starved keys
done_testing
