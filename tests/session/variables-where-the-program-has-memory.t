#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The box's driver chooses where a module's variables lie. Where the program has memory of its own there, both stay; memory that the
# program asks for comes from elsewhere.
. "$(dirname "$0")/../lib.sh"
start_box
for transport in shm tcp; do
    ok "a variable lies where the program has memory, over $transport" \
        on_box RGPU_TRANSPORT=$transport "$BUILD/tests/variable-clash"
done
done_testing
