#!/usr/bin/env bash
# A Fencepost worker in shell: one job at a time, with curl and jq.
#
#   FENCEPOST_URL=https://jobs.example.com FENCEPOST_TOKEN=fp_… worker.sh NAME TYPE COMMAND…
#
# COMMAND gets the job on standard input as JSON. What it prints, JSON too, is the result; exit 0 is a success, 75 means
# "try again later", anything else is an error that is not tried again. TERM lets the command finish.
set -u
name=$1 type=$2; shift 2
api=$FENCEPOST_URL/api/v1/worker/sessions
session='' stopping=''
unkept='{"outcome": "permanent_error", "error_class": "ReportRefused"}'
trap 'stopping=1' TERM INT

call() { # METHOD PATH [BODY]: prints the answer; fails when there is none, or it is a refusal
    curl -sS --fail-with-body --max-time 45 -X "$1" -H "Authorization: Bearer $FENCEPOST_TOKEN" \
        -H 'Content-Type: application/json' "$api$2" ${3:+--data "$3"}
}

begin() {
    until answer=$(call POST '' "$(jq -nc --arg u "$name" --arg t "$type" '{uid: $u, types: [$t]}')"); do
        echo "cannot begin: $answer" >&2; sleep $((RANDOM % 5 + 1)); [ -z "$stopping" ] || exit 0
    done
    session=/$(jq -r .session <<<"$answer")
}

beat() { # PAIR PID FILE: until it is killed; ends the command of a job that is cancelled or lost, while it writes its file
    while sleep 8; do
        told=$(call POST "$session/heartbeat" "{\"held\": [$1]}") || continue
        if [ -e "$3" ] && jq -e '(.cancel + .lost) | length > 0' <<<"$told" >/dev/null; then
            : >"$3.stopped"
            kill "$2" 2>/dev/null
        fi
    done
}

run() { # JOB COMMAND…: runs the command and says how it ended, until somebody hears it
    pair=$(jq -c '{job, fence}' <<<"$1")
    out=$(mktemp)
    "${@:2}" <<<"$1" >"$out" & pid=$!
    beat "$pair" "$pid" "$out" & beater=$!
    while :; do wait "$pid"; status=$?; kill -0 "$pid" 2>/dev/null || break; done
    if [ -e "$out.stopped" ]; then status=stopped; fi
    case $status in
        0) end=$(jq -sc 'if length > 1 then error("more than one") else {outcome: "success", result: .[0]} end' "$out" 2>/dev/null) ||
            end='{"outcome": "permanent_error", "error_class": "NotJson", "error_message": "What it printed is not one JSON value."}' ;;
        stopped) end='{"outcome": "cancelled"}' ;;
        75) end='{"outcome": "retryable_error", "error_class": "TemporaryFailure"}' ;;
        *) end="{\"outcome\": \"permanent_error\", \"error_class\": \"ExitStatus$status\"}" ;;
    esac
    rm -f "$out" "$out.stopped"
    until answer=$(call POST "$session/report" "{\"results\": [$(jq -c --argjson e "$end" '. + $e' <<<"$pair")]}"); do
        if jq -e '.status < 500 and .status != 429' <<<"$answer" >/dev/null 2>&1; then
            echo "report refused: $answer" >&2
            jq -e '.status == 400 or .status == 413' <<<"$answer" >/dev/null && [ "$end" != "$unkept" ] || break
            end=$unkept  # what it printed cannot be kept: that much can be said
        else
            sleep 2
        fi
    done
    kill "$beater" 2>/dev/null
}

begin
while [ -z "$stopping" ]; do
    if answer=$(call POST "$session/claim" '{"limit": 1, "wait_seconds": 5}'); then
        job=$(jq -c '.jobs[0] // empty' <<<"$answer")
        if [ -n "$job" ]; then run "$job" "$@"; fi
        # A lease of half a minute is kept by a heartbeat between two claims too.
        call POST "$session/heartbeat" '{"held": []}' >/dev/null
    elif jq -e '.code == "session_over" or .code == "not_found"' <<<"$answer" >/dev/null 2>&1; then
        begin
    else
        sleep $((RANDOM % 3 + 1))
        # After an outage longer than the lease: nothing is handed out until a heartbeat renews it.
        call POST "$session/heartbeat" '{"held": []}' >/dev/null
    fi
done
call DELETE "$session"
