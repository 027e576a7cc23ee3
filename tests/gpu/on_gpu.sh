#!/bin/bash
# Everything that needs a GPU, one verdict a line. Run it in a build folder on a machine with one:
#   cmake -S . -B build && cmake --build build && cmake --build build --target npgpu_bench npgpu_bench_probes npgpu_bench_gemm
#   cd build && tests/gpu/on_gpu.sh
# Exit code 0 if all parts passed, 77 if there is no GPU. Logs stay in on_gpu_logs/.
set -u
build=$PWD
tests=$build/tests/gpu/npgpu_tests_gpu
bench=$build/tests/gpu/npgpu_bench
example=$build/examples/npgpu_example_streams
logs=$build/on_gpu_logs
mkdir -p "$logs"
failed=0

[ -x "$tests" ] || { echo "on_gpu: run it in a build folder; there is no $tests"; exit 2; }

part() {  # name, then the command
  local name=$1 begin=$SECONDS rc
  shift
  "$@" > "$logs/$name.log" 2>&1
  rc=$?
  case $rc in
    0) echo "$name: passed in $((SECONDS - begin)) s" ;;
    77) echo "$name: skipped: $(tail -1 "$logs/$name.log")" ;;
    *) echo "$name: FAILED ($rc), see $logs/$name.log"
       grep -E 'ERROR|FAILED|Invalid|Error' "$logs/$name.log" | head -5
       failed=1 ;;
  esac
  return $rc
}

if ! "$tests" --list-test-cases > "$logs/gpu.log" 2>&1; then
  echo "no GPU: $(tail -1 "$logs/gpu.log")"
  exit 77
fi

if command -v ctest > /dev/null && [ -f "$build/CTestTestfile.cmake" ]; then
  part tests ctest -L gpu --output-on-failure
else
  part tests "$tests"
fi

costs=$build/tests/gpu/costs.h5  # ctest leaves it there
if [ -x "$example" ]; then
  [ -f "$costs" ] || part costs "$build/npgpu" streams --experiment overheads --device cuda:0 --output "$costs" --quiet
  for order in breadth-first depth-first; do
    part "example_$order" "$example" "$costs" $order
    cat "$logs/example_$order.log"
  done
else
  echo "example: left out: it was not built (NPGPU_EXAMPLES)"
fi

# Left out here: failures that are meant, which the checker would count, and what takes long without it already.
if command -v compute-sanitizer > /dev/null; then
  part memcheck compute-sanitizer --tool memcheck --error-exitcode 1 "$tests" \
    --test-case-exclude='cold*,*size past all memory,*is refused*,a closed gate*,the free one of two*,gated duplex overlaps*,the lists of shapes*,every case and cut*'
  part racecheck compute-sanitizer --tool racecheck --error-exitcode 1 "$tests" --source-file='*/probes_test*' \
    --test-case-exclude='the lists of shapes*'
  # Jobs in streams: memcheck has had the few jobs of odd parts, and their kernels share no memory; the example's do.
  if [ -x "$example" ]; then
    for tool in memcheck racecheck; do
      part "${tool}_example" compute-sanitizer --tool $tool --error-exitcode 1 "$example" "$costs" breadth-first 1
    done
  fi
else
  echo "memcheck: left out: compute-sanitizer is not on PATH"
fi

if [ -x "$bench" ]; then
  part bench "$bench"
  cat "$logs/bench.log"
else
  echo "bench: left out: build the target npgpu_bench"
fi
if [ -x "$bench"_probes ]; then
  part bench_probes "$bench"_probes
  grep ^BEST "$logs/bench_probes.log"
else
  echo "bench_probes: left out: build the target npgpu_bench_probes"
fi
if [ -x "$bench"_gemm ]; then
  part bench_gemm "$bench"_gemm
  cat "$logs/bench_gemm.log"
else
  echo "bench_gemm: left out: build the target npgpu_bench_gemm"
fi
exit $failed
