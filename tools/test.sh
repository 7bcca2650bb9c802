#!/usr/bin/env bash
# Sets up, builds and runs the tests, after a minute of made-up bytes for each
# reader of files; the last lines say what was skipped, and why. --full: the
# whole matrices, of which that on an emulated GPU takes half a day and goes on
# where it was stopped, ten minutes of bytes, the runtime under sanitizers.
# --sanitize: with the sanitizers. --no-fuzz: without the bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
full= sanitize= fuzz=60
for option in "$@"; do
  case $option in
    --full) full=1 sanitize=1 fuzz=600 ;;
    --sanitize) sanitize=1 ;;
    --no-fuzz) fuzz= ;;
    *) echo "usage: tools/test.sh [--full] [--sanitize] [--no-fuzz]" >&2
       exit 2 ;;
  esac
done
tools/setup.sh --tests
tools/build.sh
failed=0
# A failure here doesn't keep the tests from running; the last lines say it
# again, as a log that is cut keeps those.
found=
if [[ -n $fuzz ]] && ! tools/fuzz.sh "$fuzz" 2>build/fuzz.log; then
  cat build/fuzz.log >&2
  failed=1
  found=$(grep -E 'runtime error|ERROR: |FAILED|^fuzz: ' build/fuzz.log || true)
fi
[[ -z $sanitize ]] || tools/sanitize.sh || failed=1
cd build
export ZEROGRAPH_FULL=$full
# One at a time: a test runs several ranks, each with threads of its own.
if [[ -n $full ]]; then limit=7200; else limit=900; fi
ctest --output-on-failure --timeout "$limit" || failed=1
if [[ -n $full ]]; then
  # A test that has passed counts for these very programs.
  built=$(cat bin/e2e_cuda_test bin/zerograph-run tests/emulator/lib/libcuda.so.1 |
    sha256sum | cut -c 1-16)
  ZEROGRAPH_MATRIX=matrix-$built bin/e2e_cuda_test --gtest_brief=1 \
    --gtest_filter='All/Cuda.*:All/CudaOffload.*' || failed=1
fi
/usr/bin/python3 ../tests/skipped.py Testing/Temporary/LastTest.log
[[ -z $found ]] || echo "test: made-up bytes, see above:"$'\n'"$found" >&2
exit $failed
