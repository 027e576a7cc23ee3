#!/bin/bash
# Everything that needs a GPU, one verdict a line. Run it in a build folder on a machine with one:
#   cmake -S . -B build && cmake --build build && cmake --build build --target npgpu_benches
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

# The checkers take minutes: each file of tests, and each probe, is a process of its own, as many at a time as there are
# cores, up to 16.
cores=$(nproc)
checked() {  # tool, then what is run: for each line of stdin its name and the tests' options
  local tool=$1 begin=$SECONDS name options
  while read -r name options; do
    echo "$name compute-sanitizer --tool $tool --error-exitcode 1 $tests $options"
  done | xargs -P $((cores < 16 ? cores : 16)) -d '\n' -n 1 bash -c 'name=${1%% *} && eval "${1#* }" > "$0/$name.log" 2>&1 || echo "$name"' "$logs/$tool" \
    > "$logs/$tool.failed"
  if [ ! -s "$logs/$tool.failed" ]; then
    echo "$tool: passed in $((SECONDS - begin)) s, $(cat "$logs/$tool"/*.log | grep -c 'SUMMARY: 0') of" \
      "$(ls "$logs/$tool" | wc -l) without an error"
  else
    echo "$tool: FAILED: $(tr '\n' ' ' < "$logs/$tool.failed"), see $logs/$tool"
    failed=1
  fi
}

# Left out here: failures that are meant, which the checker would count, and what takes long without it already.
if command -v compute-sanitizer > /dev/null; then
  meant="'cold*,*size past all memory,*is refused*,a closed gate*,the free one of two*,gated duplex overlaps*,the lists of shapes*,every case and cut*,stages: each takes*'"
  # Those that take longest begin first.
  probes="bandwidth banks wgmma gemm cluster tma onchip product reduction tensor access staging migration compute divergence instructions atomics occupancy latency"
  mkdir -p "$logs/memcheck" "$logs/racecheck"
  {
    for file in calls copies duplex gate inventory jobs partition payload peers spoiled; do
      echo "$file --source-file='*/${file}_test*' --test-case-exclude=$meant"
    done
    for probe in $probes; do
      echo "probe_$probe --source-file='*/probes_test*' --subcase='$probe,$probe *' --test-case='every case*results*,nothing passes*'"
    done
    echo "probes --source-file='*/probes_test*' --test-case='blocks record*,what cannot be*,one runner*,limits*,a product*'"
  } | checked memcheck
  # The checker needs seconds for each kernel that it has not met: each type of gemm has its own. Those by panels from the
  # host's memory are the same kernels, and are left out.
  for probe in $probes; do
    case $probe in
      gemm) cases="fp64 fp32 tf32 fp16 bf16 fp8 int8" ;;
      *) cases="" ;;
    esac
    for which in ${cases:-+}; do
      case $which in
        +) echo "probe_$probe --source-file='*/probes_test*' --subcase='$probe,$probe *' --test-case='every case*results*'" ;;
        *) echo "probe_${probe}_${which/+/_} --source-file='*/probes_test*' --subcase='$probe,$probe*${which/+/ }'" \
             "--test-case='every case*results*'" ;;
      esac
    done
  done > "$logs/racecheck.list"
  checked racecheck < "$logs/racecheck.list"
  # NCCL asks for what it then does without, kernels for other GPUs (cudaErrorNoKernelImageForDevice) and sight that is
  # there already (cudaErrorPeerAccessAlreadyEnabled): 104 errors of calls on two GPUs, all from its own threads. Under the
  # checker the links are slow, which is npgpu's exit code 3.
  collectives="compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 1 $build/npgpu collectives \
    --collective all-reduce --sizes 64KiB --launch eager,graph --rounds 1 --output $logs/collectives.h5 --force --quiet"
  part memcheck_collectives bash -c "$collectives; code=\$?; exit \$((code == 3 ? 0 : code))"
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
  echo "bench: left out: build the target npgpu_benches"
fi
if [ -x "$bench"_probes ]; then
  part bench_probes "$bench"_probes
  grep ^BEST "$logs/bench_probes.log"
else
  echo "bench_probes: left out: build the target npgpu_benches"
fi
if [ -x "$bench"_gemm ]; then
  part bench_gemm "$bench"_gemm
  cat "$logs/bench_gemm.log"
else
  echo "bench_gemm: left out: build the target npgpu_benches"
fi
exit $failed
