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

beat() { # PAIR PID: until it is killed; ends the command of a job that is cancelled or lost
    while sleep 8; do
        told=$(call POST "$session/heartbeat" "{\"held\": [$1]}") || continue
        if jq -e '(.cancel + .lost) | length > 0' <<<"$told" >/dev/null; then kill "$2" 2>/dev/null; fi
    done
}

run() { # JOB COMMAND…: runs the command and says how it ended, until somebody hears it
    pair=$(jq -c '{job, fence}' <<<"$1")
    out=$(mktemp)
    "${@:2}" <<<"$1" >"$out" & pid=$!
    beat "$pair" "$pid" & beater=$!
    while :; do wait "$pid"; status=$?; kill -0 "$pid" 2>/dev/null || break; done
    kill "$beater" 2>/dev/null
    case $status in
        0) end=$(jq -c '{outcome: "success", result: .}' "$out" 2>/dev/null) || end='{"outcome": "success"}' ;;
        75) end='{"outcome": "retryable_error", "error_class": "TemporaryFailure"}' ;;
        *) end="{\"outcome\": \"permanent_error\", \"error_class\": \"ExitStatus$status\"}" ;;
    esac
    rm -f "$out"
    until call POST "$session/report" "{\"results\": [$(jq -c --argjson e "${end:-null}" '. + ($e // {outcome: "success"})' <<<"$pair")]}" >/dev/null
    do sleep 2; done
}

begin
while [ -z "$stopping" ]; do
    if answer=$(call POST "$session/claim" '{"limit": 1, "wait_seconds": 5}'); then
        job=$(jq -c '.jobs[0] // empty' <<<"$answer")
        if [ -n "$job" ]; then run "$job" "$@"; fi
        # A lease of half a minute is kept by a heartbeat between two claims too.
        call POST "$session/heartbeat" '{"held": []}' >/dev/null
    elif jq -e '.code == "session_over"' <<<"$answer" >/dev/null 2>&1; then
        begin
    else
        sleep $((RANDOM % 3 + 1))
    fi
done
call DELETE "$session"
