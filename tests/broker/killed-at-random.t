#!/bin/bash
# A broker that is killed again and again under load keeps every promise.
. "$(dirname "$0")/../lib.sh"
ok "random kills under load" python3 "$TOP/tests/broker/random_kills.py" "$BUILD" "$TMP" "${SOAK_SECONDS:-8}"
sed 's/^/# /' "$TMP/ok.out" >&2
done_testing
