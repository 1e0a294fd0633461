#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each source file says under which licence it is, and both licences are here with their texts.
. "$(dirname "$0")/../lib.sh"
requires python3

ok "every source file has its line (scripts/spdx adds it)" "$TOP/scripts/spdx" --check "$TOP"
like "$(cat "$TOP/LICENSE")" '^BSD 3-Clause License' "the licence of all but the plugins"
like "$(cat "$TOP/slurm-plugin/COPYING")" 'GNU GENERAL PUBLIC LICENSE' "the plugins' licence"
like "$(cat "$TOP/slurm-plugin/LICENSE")" 'GPL-2.0-or-later' "and why it is theirs"

# A file without the line, or with the wrong one, is seen and mended.
mkdir -p "$TMP/top/slurm-plugin" "$TMP/top/common"
echo 'int x;' >"$TMP/top/common/x.c"
printf '#!/bin/sh\necho hello\n' >"$TMP/top/common/tool"
printf '// SPDX-License''-Identifier: BSD-3-Clause\n' >"$TMP/top/slurm-plugin/y.c"
is "$("$TOP/scripts/spdx" --check "$TMP/top" | cut -d: -f1 | xargs)" "common/tool common/x.c slurm-plugin/y.c" \
    "a new file is seen"
fails "a wrong licence is for a person to decide" "$TOP/scripts/spdx" "$TMP/top"
rm "$TMP/top/slurm-plugin/y.c"
ok "missing lines are added" "$TOP/scripts/spdx" "$TMP/top"
is "$(sed -n 1p "$TMP/top/common/x.c")" "// SPDX-License""-Identifier: BSD-3-Clause" "at the head"
is "$(sed -n 2p "$TMP/top/common/tool")" "# SPDX-License""-Identifier: BSD-3-Clause" "behind the interpreter"
ok "then nothing is missing" "$TOP/scripts/spdx" --check "$TMP/top"
done_testing
