#!/usr/bin/env bash
# Sets up, builds and runs the tests; --full adds the whole matrices.
set -euo pipefail
cd "$(dirname "$0")/.."
full=
case "${1-}" in
  "") ;;
  --full) full=1 ;;
  *) echo "usage: tools/test.sh [--full]" >&2; exit 2 ;;
esac
tools/build.sh
cd build
export ZEROGRAPH_FULL=$full
# One at a time: a test runs several ranks, each with threads of its own.
if [[ -n $full ]]; then limit=7200; else limit=900; fi
exec ctest --output-on-failure --timeout "$limit"
