#!/usr/bin/env bash
# The flow of the race as agent-browser commands, one process a command, as its users write it.
#   agent-browser.sh TOOL BROWSER URL OUT FLOWS
set -euo pipefail
tool=$1 url=$3 out=$4 flows=$5
export AGENT_BROWSER_EXECUTABLE_PATH=$2 AGENT_BROWSER_ARGS=$BENCH_FLAGS

ab() { "$tool" --session "$session" "$@"; }
sees() { [[ $(ab get text ul) == *"$1"* ]]; }
trap '[ -z "${session:-}" ] || ab close >/dev/null 2>&1 || true' EXIT

for ((n = 0; n < flows; n++)); do
  session=bench-$$-$n
  note="buy milk $n"
  ab open "$url" >/dev/null
  ab fill '#note' "$note" >/dev/null
  ab click button >/dev/null
  sees "$note"
  ab reload >/dev/null
  sees "$note"
  [ "$(ab get url)" = "$url" ]
  ab screenshot "$out/agent-browser-$n.png" >/dev/null
  ab close >/dev/null
  session=
done
