#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Who may do what: roles, shared keys with their time and nonce, users and their own leases.
. "$(dirname "$0")/broker.sh"

start_broker --user-leases=yes
start_pool_box box1
ctl=$BUILD/bin/rgpuctl
ask() { python3 "$TOP/tests/broker/signed.py" "$BROKER" "$@"; }
status_of() { ask "$@" | sed -n 1p; }

is "$(status_of none GET /v1/boxes)" 401 "nobody unknown may look"
is "$(status_of none GET /)" 200 "but at the page, which is empty for him"
is "$(status_of none POST /v1/leases '{}')" 401 "nobody unknown may take"
is "$(status_of none POST /v1/boxes/box1/drain '{}')" 401 "or steer"
is "$(status_of none PUT /v1/boxes/evil '{}')" 401 "or register"
is "$(status_of "$TMP/admin.key" POST /v1/boxes/box1/drain '{}')" 200 "the admin's key steers"
is "$(status_of "$TMP/admin.key" POST /v1/boxes/box1/undrain '{}')" 200 "both ways"
is "$(status_of "$TMP/scheduler.key" POST /v1/boxes/box1/drain '{}')" 403 "the scheduler's does not"
is "$(status_of "$TMP/scheduler.key" PUT /v1/boxes/evil '{}')" 403 "nor registers"
is "$(status_of "$TMP/scheduler.key" GET /v1/boxes/box1/key)" 403 "nor reads a box's keys"
is "$(status_of --box box1 "$TMP/box1.boxkey" POST /v1/leases '{"owner": 1, "request": {"gpus": [{}]}}')" 403 "a box takes no leases"
is "$(status_of "$TMP/scheduler.key" POST /v1/leases '{"owner": 1, "key": "k", "request": {"gpus": [{}]}}')" 200 "the scheduler takes leases for others"
is "$(status_of "$TMP/scheduler.key" POST /v1/leases/release '{"key": "k"}')" 200 "and gives them back"

sealed=$(ask "$TMP/scheduler.key" POST /v1/leases '{"owner": 1, "key": "k2", "ticket": true, "request": {"gpus": [{}]}}')
like "$sealed" '"sealed_ticket"' "over TCP a ticket comes sealed"
unlike "$sealed" '"ticket"|eyJ' "and cannot be read on the way"
is "$(status_of "$TMP/scheduler.key" POST /v1/leases/release '{"key": "k2"}')" 200 "(released)"

is "$(status_of "$TMP/admin.key" --time -120 POST /v1/boxes/box1/drain '{}')" 401 "a request of two minutes ago is refused"
is "$(status_of "$TMP/admin.key" --time +120 POST /v1/boxes/box1/drain '{}')" 401 "and one of the future"
like "$(ask "$TMP/admin.key" --twice POST /v1/boxes/box1/undrain '{}')" 'the request was sent before' "a request counts once"
is "$(status_of "$TMP/admin.key" --sign-body '{"force": false}' POST /v1/boxes/box1/drain '{"force": true}')" 401 "another body is refused"
digest=$(printf '{"force": true}' | sha256sum | cut -d' ' -f1)
is "$(status_of "$TMP/admin.key" --sign-body '{"force": false}' --digest "$digest" POST /v1/boxes/box1/drain '{"force": true}')" 401 "also where its digest is given instead of the signed one"
like "$(ask "$TMP/admin.key" --digest none POST /v1/boxes/box1/drain '{}')" 'Content-SHA256' "a body without a digest is refused, with the reason"
is "$(status_of "$TMP/admin.key" --sign-path /v1/boxes/box1/undrain POST /v1/boxes/box1/drain '{}')" 401 "another path is refused"
is "$(status_of "$TMP/admin.key" --sign-method GET POST /v1/boxes/box1/drain '{}')" 401 "another method is refused"
printf 'admin %064d\n' 99 >"$TMP/wrong.key"
is "$(status_of "$TMP/wrong.key" GET /v1/whoami)" 401 "a wrong key is refused"
printf 'root %064d\n' 99 >"$TMP/wrong.key"
is "$(status_of "$TMP/wrong.key" GET /v1/whoami)" 401 "an unknown key is refused"
is "$(status_of none --header 'Rgpu admin' GET /v1/whoami)" 401 "half a signature is refused"
is "$(status_of none --header 'Basic YWRtaW46' GET /v1/whoami)" 401 "another scheme is refused"

token=$(printf %064d 7)
printf 'metrics.prometheus %s\n' "$token" >>"$TMP/api.keys"
is "$(status_of none --header "Bearer $token" GET /metrics)" 401 "a token that the broker does not know is refused"
# Users without munge: one is named by his number, the other by his name.
for number in 8 9 10; do
    id=$(cut -d ' ' -f $((number - 7)) <<<"user.12345 user.nobody user.no-such-user")
    printf '%s %064d\n' "$id" $number >"$TMP/$id.key"
    chmod 600 "$TMP/$id.key"
done
is "$(status_of "$TMP/user.12345.key" GET /v1/whoami)" 401 "so is a user's key"
stop "$BROKER_PID"
cat "$TMP/user.no-such-user.key" >>"$TMP/api.keys"
fails "the key of a user who is not there is an error" "$BUILD/bin/rgpu-brokerd" --key-file "$TMP/api.keys" --check-config
like "$(cat "$TMP/ok.out")" 'key_file=.*: there is no user no-such-user' "with his name"
sed -i '$d' "$TMP/api.keys"
cat "$TMP/user.12345.key" "$TMP/user.nobody.key" >>"$TMP/api.keys"
start_broker --user-leases=yes
await "the box" box_is box1 up
ask_user() { ask "$TMP/user.$1.key" "${@:2}" | tail -n 1; }
like "$(ask_user 12345 GET /v1/whoami)" '"uid": ?12345' "a user's key is that user"
like "$(ask_user nobody GET /v1/whoami)" "\"uid\": ?$(id -u nobody)[,}]" "also where he is named"
lease=$(ask_user 12345 POST /v1/leases '{"request": {"gpus": [{}]}}' | at lease.id)
like "$(api GET "/v1/leases/$lease")" '"owner": ?12345' "he takes a lease, which is his"
is "$(status_of "$TMP/user.nobody.key" DELETE "/v1/leases/$lease")" 403 "which another user's key does not end"
is "$(status_of "$TMP/user.12345.key" POST /v1/boxes/box1/drain '{}')" 403 "he steers nothing"
ok "with rgpuctl, too" env RGPU_BROKER="$BROKER" "$ctl" leases --key "$TMP/user.12345.key"
like "$(cat "$TMP/ok.out")" "^$lease " "he sees his lease"
is "$(status_of "$TMP/user.12345.key" DELETE "/v1/leases/$lease")" 200 "and ends it"
lease=$(ask_user 12345 POST /v1/leases '{"request": {"gpus": [{}]}}' | at lease.id)
ends() { RGPU_BROKER=$BROKER "$ctl" revoke --key "$TMP/user.$1.key" "$lease" 2>&1; }
like "$(ends nobody || true)" "lease $lease is not yours" "rgpuctl ends no lease of another user"
ok "but his own" ends 12345
is "$(status_of none --header "Bearer $(cut -d' ' -f2 "$TMP/user.12345.key")" GET /metrics)" 401 "a user's key is no token"
is "$(status_of none --header "Bearer $token" GET /metrics)" 200 "from the next start on"
is "$(status_of none --header "Bearer $token" GET /v1/boxes) $(status_of none --header "Bearer $token" GET /v1/leases)" "403 403" "for metrics only"
is "$(status_of none --header "Bearer $token" POST /v1/boxes/box1/drain '{}')" 403 "and steers nothing"
is "$(status_of none --header "Bearer ${token%7}8" GET /metrics)" 401 "another one is refused"
is "$(status_of none --header "Bearer $(cut -d' ' -f2 "$TMP/admin.key")" GET /metrics)" 401 "so is the key of another role"
printf 'metrics.prometheus %s\n' "$token" >"$TMP/metrics.key"
is "$(status_of "$TMP/metrics.key" GET /v1/boxes)" 401 "and a signature with the token's key"

if [ "$(id -u)" = 0 ]; then
    share "$BUILD/tests/broker-api"
    as_plain_user() { as_user 12345 "$SHARED/broker-api" "$BROKER_SOCKET" "$@"; }
    user_code() { (as_plain_user "$@" || true) | at error.code; }
    mine=$(as_plain_user POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}' | at lease.id)
    is "$(api GET "/v1/leases/$mine" | at lease.owner)" 12345 "a user takes a lease for himself"
    is "$(user_code POST /v1/leases '{"owner": 0, "request": {"gpus": [{}]}}')" forbidden "but for nobody else"
    is "$(user_code POST /v1/leases '{"owner": 4294979641, "request": {"gpus": [{}]}}')" bad-request "a number that no user can have is none"
    theirs=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "key": "secret key"}' | at lease.id)
    is "$(user_code DELETE "/v1/leases/$theirs")" forbidden "he does not end others'"
    is "$(user_code POST /v1/tickets "{\"lease\": \"$theirs\"}")" forbidden "nor gets their tickets"
    is "$(user_code POST "/v1/leases/$theirs/renew" '{}')" forbidden "nor renews them"
    is "$(user_code POST "/v1/leases/$theirs/revoke" '{}')" forbidden "nor revokes them"
    unlike "$(as_plain_user GET /v1/leases)" 'secret key' "nor sees their keys"
    ok "he ends his lease" as_plain_user DELETE "/v1/leases/$mine"
    ok "and another ends" api DELETE "/v1/leases/$theirs"
    await "the ends" sh -c '[ "$("$1" "$2" GET /v1/leases)" = "{\"leases\":[]}" ]' sh "$BUILD/tests/broker-api" "$BROKER_SOCKET"
    unlike "$(as_plain_user GET '/v1/leases?state=ended')" 'secret key' "whose key he does not see afterwards either"
    unlike "$(as_plain_user GET "/v1/leases?id=$mine,$theirs")" 'secret key' "nor when he asks for it by its id"

    # Names that two give their leases never meet.
    squatted=$(as_plain_user POST /v1/leases '{"request": {"gpus": [{}]}, "key": "slurm/c/9/1"}' | at lease.id)
    slurms=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "key": "slurm/c/9/1", "owner": 12345}' | at lease.id)
    like "$slurms" '^L' "the scheduler gets a lease under a key that a user took before"
    isnt() { [ "$1" != "$2" ]; }
    ok "a lease of its own" isnt "$slurms" "$squatted"
    is "$(api GET '/v1/leases?key_prefix=slurm/' | at leases.0.id)" "$slurms" "the scheduler's list by key"
    is "$(api GET '/v1/leases?key_prefix=slurm/' | at leases.#)" 1 "has only its own"
    is "$(as_plain_user POST /v1/tickets '{"key": "slurm/c/9/1"}' | at lease)" "$slurms" "the user's ticket by that key is for his job"
    ok "the scheduler releases by key" api POST /v1/leases/release '{"key": "slurm/c/9/1"}'
    is "$(api GET "/v1/leases/$squatted" | at lease.state)" granted "which ends only its own"
    mine=$squatted
    is "$(user_code POST /v1/boxes/box1/drain '{}')" forbidden "he steers nothing"
    like "$(as_plain_user POST /v1/boxes/box1/drain '{}' || true)" 'administrators \(admins in rgpu-brokerd.conf\)' "and the answer names who does"
    is "$(user_code PUT /v1/boxes/box9 '{}')" forbidden "he is no box"
    ok "he gets his ticket" as_plain_user POST /v1/tickets "{\"lease\": \"$mine\"}"
    ok "and ends his own" as_plain_user DELETE "/v1/leases/$mine"
else
    skip "only root can be several users"
fi
is "$(api GET /v1/whoami | at name)" "$( [ "$(id -u)" = 0 ] && echo admin || echo user) uid=$(id -u)" "on the unix socket the kernel tells who asks"

stop "$BROKER_PID"
start_broker --max-ticket-lifetime 200h
await "the box" box_is box1 up
lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}}' | at lease.id)
ok "a ticket may be asked for a time" api POST /v1/tickets "{\"lease\": \"$lease\", \"lifetime\": 720000}"
is "$(error_code POST /v1/tickets "{\"lease\": \"$lease\", \"lifetime\": 720001}")" bad-request "up to the administrator's limit"
is "$(error_code POST /v1/tickets "{\"lease\": \"$lease\", \"lifetime\": 9000000000000}")" bad-request "not for 285,000 years"
is "$(error_code POST /v1/tickets "{\"lease\": \"$lease\", \"lifetime\": -1}")" bad-request "nor for less than nothing"
is "$(error_code POST /v1/leases '{"request": {"gpus": [{}]}, "lifetime": 9223372036854775807}')" bad-request "a lease has a limit as well"
stop "$BROKER_PID"
refused() { "$BUILD/bin/rgpu-brokerd" --state-dir "$TMP" --socket "" --listen 127.0.0.1:0 --munge no "$@" 2>&1; }
like "$(refused --max-ticket-lifetime 100h || true)" 'max_ticket_lifetime must not be shorter' "a limit below the usual lifetime is refused at start"
like "$(refused --heartbeat 12s || true)" 'away_after must be twice heartbeat or more' "so is a heartbeat that is nearly the grace"
like "$(refused --heartbeat 0 || true)" 'heartbeat=0 is not a time' "or none"
like "$(refused --heartbeat 3 || true)" 'heartbeat=3 is not a time with its unit' "or one without a unit"
like "$(refused --admins root,nobody-has-this-name || true)" 'admins: there is no user nobody-has-this-name' "an administrator whom nobody knows"
like "$(refused --schedulers slrum || true)" 'schedulers: there is no user slrum' "and a scheduler"
start_broker --anonymous-read=yes
is "$(status_of none GET /v1/boxes)" 200 "where the administrator says so, anybody may look"
is "$(status_of none POST /v1/boxes/box1/drain '{}')" 401 "at most"
is "$(RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key "$ctl" box-key box1)" "$(cat "$TMP/box1.boxkey")" "a box's keys come through sealed too"
is "$(status_of none GET /healthz)" 200 "but that the broker is well"
is "$(error_code POST /v1/leases '[1]')" bad-json "a body is an object"
is "$(error_code POST /v1/leases '{"request": {}}')" bad-request "which says what is wanted"
is "$(error_code GET /v1/nothing)" not-found "an unknown path"
is "$(error_code PUT /v1/leases '{}')" method "an unknown method"
done_testing
