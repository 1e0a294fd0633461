#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unmodified programs run through a window of memory, as they would in a virtual machine (which tests/vm boots).
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/windows.sh"
. "$TOP/tests/session/programs.sh"
start_windowed_box
ok "a window is attached" vm attach m --size 512M
run=(in_window m)
# These register files that processes share, which a machine cannot show to the box.
run_programs registered ranks
like "$(in_window m "$BUILD/tests/programs/pinned" 2>&1)" 'transport=vm reason=.*a window of the box' "over the window"
ok "the box is alive after all of them" kill -0 "$BOX_PID"
await "all of the window is given back" has m taken 0 && pass "all of the window is given back"
done_testing
