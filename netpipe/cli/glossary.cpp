#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "netpipe/cli/commands.hpp"
#include "npgpu/measuring/campaign.hpp"
#include "npgpu/model/simulate.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/job.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::cli {

namespace {

template <class E> std::string one_of(std::string text) { return text + ": " + choices<E>() + "."; }

// The calls that commands time: a function of the user's own is measured through the library.
std::vector<std::string> call_words() { return {names_of<Call>.begin(), names_of<Call>.end() - 1}; }

std::string short_text(Seconds length) {
  if (length == Seconds{0}) return "one repeat";
  return length < Seconds{1} ? fmt::format("{:g}ms", 1e3 * length.count()) : fmt::format("{:g}s", length.count());
}

// "default 1ms; calls, pieces 0.5ms": what the first kind has, then the kinds that have something else.
template <class Of> std::string defaults(bool is_classic, Of of) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds_of;
  const Repetitions usual = default_repetitions();
  for_each_kind([&]<class K>() {
    const Repetition& repetition = std::get<RepetitionOf<K>>(usual);
    if (repetition.is_classic || (is_classic && repetition.classic.fixed_repeats)) return;
    const std::string text = short_text(of(repetition));
    auto at = std::ranges::find(kinds_of, text, &decltype(kinds_of)::value_type::first);
    if (at == kinds_of.end()) at = kinds_of.insert(at, {text, {}});
    at->second.emplace_back(K::name);
  });
  std::string all = "default " + kinds_of.front().first;
  for (const auto& one : kinds_of | std::views::drop(1))
    all += fmt::format("; {} {}", fmt::join(one.second, ", "), one.first);
  return all;
}

}  // namespace

const std::map<std::string_view, Meaning>& glossary() {
  static const std::map<std::string_view, Meaning> all{
      {"help", {"", "Print this text.", 'h'}},
      {"config",
       {"FILE",
        "Read options from an INI file. Its keys are long options. A [section] holds those of the command of that "
        "name."}},
      {"device",
       {"NAME", "The device: host, cuda:N, opencl:N, sim:NAME or sim:FILE.json. npgpu info --words shows them."}},
      {"json", {"", "Print JSON."}},
      {"words", {"", "Show modules, probes, devices and the words that options take."}},
      {"quick", {"", "Measure fewer sizes, shapes and cases."}},
      {"again",
       {"TIME",
        "A figure beyond its limit, or with the limit inside its interval, is measured again until it is settled, for "
        "at most this long. It is slow only if it stays slow. 0: never."}},
      {"soak",
       {"TIME",
        "Keep all GPUs busy for this long (10min, 1h): compute, tensor cores, memory, copies, one by one and several "
        "at once. All results are compared; rates, clocks, temperatures, power and errors are recorded as they "
        "change."}},
      {"demo",
       {"", "Check a simulated GPU with each sickness that there is one of, and show what is found. Needs no GPU."}},
      {"memory-test",
       {"",
        "Write patterns into all free memory of each GPU and read them back: each bit of each word at 1 and at 0, "
        "addresses, random words. With --soak it is one of the loads, a part of it in each turn."}},
      {"one-by-one",
       {"",
        "Measure several GPUs one after the other. Otherwise all are measured at once, each by its own process. Then "
        "some points of each are measured again while the others rest. That shows whether they disturb each other."}},

      // transfers
      {"module", {"LIST", "The API that moves the bytes. npgpu info --words shows them."}},
      {"pattern",
       {"LIST",
        "stream: copies one way, back to back. pingpong: to the target and back. duplex: both directions at once. "
        "chase: loads of 8 bytes by a kernel, each from the address that the previous one loaded. atomic: the same by "
        "atomic additions. flag: each of two writes a word that the other waits for."}},
      {"direction",
       {"LIST",
        "h2d: host to device. d2h: device to host. d2d: within the device. h2h: within the host. peer: from one device "
        "to another."}},
      {"to", {"LIST", "With --direction peer: the devices that are copied to."}},
      {"pieces", {"LIST", "Number of pieces that are copied together, 1 to 65536: 16, 1..64."}},
      {"piece-bytes", {"LIST", "Size of a piece: 512,4KiB."}},
      {"way",
       {"LIST",
        "How the copies are issued. loop: cudaMemcpyAsync for each piece. copy-2d, copy-3d: one cudaMemcpy2DAsync or "
        "cudaMemcpy3DAsync, of pieces with a pitch. batch: one cudaMemcpyBatchAsync, of CUDA 12.8 on. graph: a graph "
        "of the loop's copies, instantiated beforehand. kernel: a kernel of npgpu's own."}},
      {"layout",
       {"LIST",
        "How the pieces lie in the device's memory; of d2d and peer, in the source's. contiguous: one behind the "
        "other. strided: at a distance of twice a piece. scattered: in random slots of a pool of twice as many."}},
      {"other-layout",
       {"LIST", "The same at the other end: in the host's pinned memory; of d2d and peer, in the target's."}},
      {"access",
       {"LIST",
        "How a copy between two devices reaches the other one's memory. write: the source's device writes. read: the "
        "target's device reads. staged: neither sees the other, and the driver takes the bytes through the host. Of "
        "messages between ranks, write: MPI or UCX takes both ends as they are. staged: through host memory in "
        "chunks."}},
      {"chunk",
       {"LIST",
        "Size of the chunks of staged messages. advised: for each size the chunk that the measured costs of the stages "
        "predict to be fastest, or half, double and so on, where trials before the first visit are faster with that."}},
      {"rank-timeout", {"TIME", "Give up when another rank has not started, or not answered, for this long."}},
      {"executor", {"LIST", one_of<Executor>("Who moves the bytes")}},
      {"only",
       {"LIST",
        "Parts of the matrix. pairs: from each GPU to each other one. both: both ways at once. host: between each GPU "
        "and the host, and within each. latency: of loads, atomic additions and flags. together: many at once. numa: "
        "from each NUMA node of the host to each GPU and back."}},
      {"every-pair", {"", "Measure every pair also where there are more than 8 GPUs, in place of some of each."}},
      {"memory", {"LIST", one_of<Memory>("Kind of memory")}},
      {"async", {"", "Use the asynchronous form of the API."}},
      {"timing",
       {"LIST",
        "host: the host's clock, from the first call until all is done. event: device events around the operations. "
        "gated: device events, and everything is enqueued behind a waiting kernel first, so that the cost of calls is "
        "not included."}},
      {"cache", {"LIST", "warm: all repeats touch the same bytes. cold: they walk through more than the caches hold."}},
      {"source-offset", {"SIZE", "Distance of the source from an aligned address."}},
      {"target-offset", {"SIZE", "Distance of the target from an aligned address."}},
      {"no-bind", {"", "Leave threads and buffers where the system puts them."}},
      {"host-node",
       {"LIST",
        "NUMA nodes of the host: threads and the host's buffers are placed on one after the other. all: each that has "
        "processors."}},
      {"start", {"SIZE", "The smallest size."}},
      {"end", {"SIZE", "The largest size."}},
      {"perturbation", {"SIZE", "Also measure each size minus and plus this; 0 for none."}},
      {"sizes", {"LIST", "Measure these sizes in place of a range: 8,4KiB,1MiB."}},

      // probes
      {"operation", {"LIST", one_of<Operation>("What the kernel does")}},
      {"type", {"LIST", one_of<DataType>("Type of the elements")}},
      {"form", {"LIST", "streaming: no step of a thread waits for another. dependent: each waits for the one before."}},
      {"space", {"LIST", one_of<Space>("Where the data is")}},
      {"shape",
       {"LIST",
        "Measure this shape in place of those that answer the case: "
        "blocks=132,threads=1024,ilp=4,access=16,bytes=4GiB,one_block_per_sm=1. Patterns also have stride, offset, "
        "ways and rung; occupancy has registers and shared, migration has pages. operands are zeros, pattern or random "
        "where the kernels take them. gemm has m, n and k, or square for all three, panels (0: as many as are "
        "advised), ops (nn, nt, tn, tt: t where A or B lies transposed), alpha and beta and, on the host, blocks: its "
        "cores; host_columns of C are the host's part of a product of the GPU (advised: by both rates). A range, "
        "square=64..512:8, is as many shapes."}},
      {"thorough", {"", "With NAME all: every shape of every probe, also those that characterize leaves out."}},

      // jobs
      {"experiment",
       {"LIST",
        "fixed: 60 MiB each way (15 Mi ints), cut by 18 of its divisors, with 20 lengths of kernel. asymmetric: 24 "
        "MiB, "
        "shared between the two directions in 13 ways, unsplit and in 16, with five lengths. Both are those of "
        "Gomez-Luna et al. 2012, in streams that are there and in ones made for the job. overheads: copies, kernels "
        "and "
        "streams alone, which predictions need. design: many random workloads, each in many cuts."}},
      {"workloads", {"N", "Number of workloads in the random design."}},
      {"seed", {"N", "Seed of the random design."}},
      {"kernel",
       {"LIST",
        "What the kernel does with each word. none: there is no kernel. increment: adds to it in memory. memory: reads "
        "a word of a buffer beyond the caches. compute: multiply-adds in registers."}},
      {"order",
       {"LIST",
        "Order of the host's calls. breadth-first: all copies in, then all kernels, then all copies out. depth-first: "
        "one chunk after the other. independent: as depth-first, but copies in, kernels and copies out have streams of "
        "their own and do not wait for each other."}},
      {"pool",
       {"LIST", "pooled: the streams exist before the clock starts. fresh: they are created within the timed region."}},
      {"issue",
       {"LIST",
        "streams: the host makes the job's calls one by one. graph: the same calls are captured into a CUDA graph "
        "before the clock starts, and one call launches them all."}},
      {"bytes-in", {"SIZE", "Bytes that the job copies to the device."}},
      {"bytes-out", {"SIZE", "Bytes that the job copies from the device."}},
      {"iterations", {"LIST", "Iterations of the kernel's loop over its words: 8, 8..27, 20..115:5."}},
      {"chunks", {"LIST", "Number of chunks that the job is cut into: 4, 1..16."}},
      {"streams", {"LIST", "Number of streams, used round-robin."}},
      {"threads", {"N", "Threads of a block."}},
      {"kernel-ms", {"T", "Time of the whole kernel, alone on the device, in milliseconds."}},
      {"blocks",
       {"N",
        "Number of the kernel's blocks. A chunk's kernel then takes as many waves as its blocks need. A chunk of less "
        "than one block takes as long as one block."}},
      {"flops",
       {"COUNT",
        "Arithmetic operations of the whole kernel: 2e12. A multiply-add is two, and so is an add or a multiply that "
        "takes an instruction of its own."}},
      {"bytes-moved", {"BYTES", "Bytes of the whole kernel between registers and memory, read and written together."}},
      {"bytes-written", {"BYTES", "Of --bytes-moved, those that are written. Default: not known, about half."}},
      {"random", {"", "A thread's words lie anywhere, so that each brings a sector of 32 B."}},
      {"in-flight",
       {"N",
        "Loads, or operations, of a thread that do not wait for each other: those of a loop that the compiler "
        "unrolls. Default: not known; as many as are loaded for each store, or one where nothing is stored."}},
      {"source-registers",
       {"N",
        "Different registers that an operation reads: two of x*f+f, three of x*a+b. Three take twice as long on some "
        "GPUs where the operations of a thread wait for each other. Default: not known, 3."}},
      {"registers", {"N", "Registers of a thread, as ptxas -v says. They limit the blocks of a multiprocessor."}},
      {"shared", {"SIZE", "Shared memory of a block. It limits the blocks of a multiprocessor."}},
      {"on",
       {"DEVICE",
        "Another device than one of the trace: a simulated one (gtx480; twins/h200 has the figures of a real one), the "
        "FILE that npgpu derive --twin wrote, or the trace of a node."}},
      {"twin",
       {"FILE",
        "Write what the trace says of the device as a file: --device sim:FILE measures on it, and predict --on FILE "
        "predicts by it."}},
      {"slots", {"N", "Number of the kernel's blocks that the device works on at once."}},
      {"max-streams", {"N", "Try up to this many streams to find the best number."}},

      // a node in numbers
      {"h2d-gb-s", {"RATE", "Rate of copies to the device in GB/s."}},
      {"d2h-gb-s", {"RATE", "Rate of copies from the device in GB/s."}},
      {"slow-down",
       {"LIST",
        "How many times longer a copy takes while another goes the other way: one number, or one for copies in and one "
        "for copies out."}},
      {"copy-engines", {"N", "Number of copy engines: 1 or 2."}},
      {"issue-us",
       {"LIST", "Time of a call on the host in microseconds: one number, or three for copy in, kernel and copy out."}},
      {"gap-us",
       {"LIST", "What each operation adds to the time of its engine, in microseconds: one number, or three."}},
      {"latency-us",
       {"LIST",
        "Time from the end of an operation to the next one of its stream, in microseconds: one number, or three."}},
      {"create-us", {"T", "Time of creating one stream in microseconds."}},
      {"queues", {"N", "Number of hardware queues of each engine; 0 for one for each stream."}},
      {"implicit-sync",
       {"WORD",
        "What a copy out waits for, whatever its stream. none: nothing. start: the start of all earlier kernels. end: "
        "their end."}},
      {"compute",
       {"WORD",
        "Kernels of different streams. serial: run one after the other. shared: use what the others leave of the "
        "device. slots: their blocks take free slots."}},
      {"trace", {"FILE", "Take measurements from this trace."}},
      {"chrome", {"FILE", "Also write the timeline to this file, which ui.perfetto.dev opens."}},
      {"code",
       {"WORD",
        "Print the advice as a program that times itself, to put your own kernel into: cuda, cupy or torch. Alone it "
        "is cuda, which is C++; the others are Python.",
        0, false, "cuda"}},
      {"draw", {"", "Also draw when the host and each engine work on which chunk."}},

      // predictions
      {"measured",
       {"FILE",
        "A trace of measured jobs. If a job is given, the prediction's error is that of these jobs (by default, of "
        "jobs measured on an H200). If none is given, these jobs are predicted."}},
      {"max-memory",
       {"SIZE",
        "Use at most this much device memory for the buffers of chunks. Chunks then take turns in the streams' "
        "buffers."}},

      {"items",
       {"N",
        "Equal items that the job consists of, such as frames: no chunk has a part of one. Chunks have as many, or the "
        "last one has one less."}},
      {"model",
       {"LIST",
        "Also show what models of the literature say: best-practices (CUDA C Best Practices Guide), cc1 (Gomez-Luna et "
        "al. "
        "2012, (1) and (3), n by (2) and (4)), cc1-corrected (the same, with the n of the least time), cc2 ((5) and "
        "(7), n "
        "by (6) and (8)), van-werkhoven (van Werkhoven et al. 2014), veneva-small, veneva-big (Veneva & Imamura 2025, "
        "(2) "
        "and (7), fitted to measured jobs: those of --measured or TRACE); all: those that can."}},

      // checks
      {"level", {"N", "1: at most 5 s a GPU. 2: at most 30 s. 3: all that npgpu characterize measures."}},
      {"reference", {"FILE", "Judge by what is known to be good."}},
      {"expect",
       {"LIST",
        "What the node must have: gpus=8,name=H200,memory=139,sms=132,link=gen5x16,driver=580. Memory is in GiB, 10 % "
        "more or less; a name is one or more words of the GPU's. Also limits of figures, which then decide alone: "
        "h2d=50GB/s,memory=4.4TB/s,fp32=60TFLOP/s,launch=5us, and each metric of --json by its name."}},
      {"ignore-xid",
       {"LIST", "Xids that do not count on this machine: 13,154. Those that programs cause never count."}},
      {"exit-codes",
       {"WORD",
        "npgpu: a code for each verdict. nagios: 0 ok, 1 undecided or ok with warnings, 2 slow or broken, 3 failed to "
        "run or not judged; the first line is that of a plugin, with all figures and their limits."}},
      {"junit", {"FILE", "Also write JUnit's XML. A file that exists is replaced."}},
      {"openmetrics", {"FILE", "Also write metrics as Prometheus reads them. A file that exists is replaced."}},

      // fleets
      {"csv", {"FILE", "Write csv: a row for each GPU and each thing that it is judged by."}},

      // schedules
      {"schedule",
       {"WORD",
        "adaptive: repeat a point until the interval of its median is narrow enough. classic: a fixed number of trials "
        "of a fixed length (Allada et al. 2009)."}},
      {"rounds",
       {"N",
        "Visit every point this many times, spread over the whole run, each time in another order and in new buffers. "
        "Intervals are over visits: 6 or more need no assumption (default: adaptive 6, and 4 of probes; classic 1)."}},
      {"wait-quiet",
       {"TIME",
        "Wait this long for others to leave the device and the processors. Then go on: what they disturb is marked. 0: "
        "do not look."}},
      {"require-quiet", {"", "Exit with code 4 if others use the device or the processors, instead of going on."}},
      {"trials",
       {"N",
        "Trials of a visit. adaptive: at least this many (default 2; with one round 9, at least 6). classic: exactly "
        "this many (default 7)."}},
      {"tolerance", {"SHARE", "The relative difference that counts as equal."}},
      {"trial-time",
       {"TIME", fmt::format("adaptive: length of a trial ({}).",
                            defaults(false, [](const Repetition& r) { return r.adaptive.trial; }))}},
      {"budget",
       {"TIME", fmt::format("adaptive: a point that has not converged after this time is marked so ({}).",
                            defaults(false, [](const Repetition& r) { return r.adaptive.budget; }))}},
      {"target-time",
       {"TIME", fmt::format("classic: length of a trial ({}).",
                            defaults(true, [](const Repetition& r) { return r.classic.target; }))}},
      {"repeats", {"N", "classic: repeats of a trial, in place of its length."}},

      {"call",
       {"LIST", fmt::format("Only these calls. Those from free on are timed only where they are named: {}.",
                            fmt::join(call_words(), ", "))}},

      // energy
      {"with", {"LIST", "What is measured in addition. energy: what work costs in joules, a minute for each GPU."}},
      {"work",
       {"LIST",
        "What the device does. idle: nothing, with a context. no-context: nothing, without one. read, write, copy: "
        "memory or, of read, caches (--space). fma: multiply-adds in registers. mma, wgmma: products by tensor cores. "
        "h2d, d2h, peer: copies. Default: idle, read, write, fma, the tensor cores' own of these, h2d and d2h."}},
      {"operands",
       {"LIST",
        "The data that is read or computed with. usual: the probe's own. zeros: zeros only. pattern: one word "
        "everywhere. random: bits without a pattern."}},
      {"window", {"TIME", "The shortest length of a window, 200ms or more. Default: 200ms."}},

      // record
      {"after", {"TIME", "Begin so long after the application started: 10s. Default: at once."}},
      {"for", {"TIME", "Record for so long, and let the application run on: 2s. Default: to its end."}},
      {"most", {"SIZE", "Record no more than so many bytes of each process, in a temporary folder."}},
      {"import",
       {"FILE",
        "Run nothing, and read what another profiler recorded: the trace that torch.profiler exports (.json, "
        ".json.gz), or the SQLite export of Nsight Systems (.sqlite)."}},

      // roofline
      {"counts",
       {"NAME=WORK",
        "A kernel of your own: FLOP,BYTES,TIME as in mine=2TFLOP,80GB,40ms, and behind these the type, where it is not "
        "fp32: fp64, fp16, bf16, int32, or of tensor cores tensor-fp16, tensor-tf32 and so on. Bytes are those of the "
        "device's memory. May be repeated.",
        0, true}},
      {"profile",
       {"FILE",
        "Kernels that Nsight Compute measured, as ncu --csv or ncu --csv --page raw writes them. May be repeated.", 0,
        true}},

      // collectives
      {"collective",
       {"LIST",
        one_of<CollectiveOperation>("What all GPUs do together. The first GPU is the root of those that have one")}},
      {"all-reduce", {"SIZE", "Predict the time of an all-reduce of this size: bytes on each GPU."}},
      {"launch",
       {"LIST",
        "eager: a call of the library for each operation. graph: operations are captured in CUDA graphs of 16, which "
        "are launched."}},
      {"place", {"LIST", "Where results are written. out: into separate buffers. in: over the operands."}},

      // the partition method
      {"size", {"LIST", "Number of unknowns of a system: 1000, 1e6, 1000..9000:1000."}},
      {"sub-system", {"N", "Number of rows of a sub-system, which one thread solves."}},

      // what comes out
      {"output", {"FILE", "The file to write.", 'o'}},
      {"force", {"", "Replace a file that exists."}},
      {"resume", {"", "Continue the trace named by --output with the same plan: measure what it lacks."}},
      {"append", {"", "Add to the trace named by --output what another plan measures on the same machine."}},
      {"quiet", {"", "Print no progress, and one line at the end."}},
      {"progress",
       {"WORD",
        "bar: a bar with the time left. cases: a line for each case; of copies between GPUs, of which there are "
        "hundreds, for each round. points: a line for each point once it is on disk. none: nothing. Default: bar on a "
        "terminal, cases elsewhere."}},
      {"dry-run",
       {"", "Print what would be measured, how long that takes and how much memory it needs. Measure nothing."}},

      // traces
      {"case",
       {"KIND[:LIST]",
        "Only these series: a kind (transfers, probes, jobs, calls, partitions, energies, soaks, pieces, collectives, "
        "records) "
        "and their numbers in the trace, as in transfers:0,3. Several are separated by spaces, or the option is "
        "repeated.",
        0, true}},
      {"incomplete", {"", "Also take runs that did not reach their end."}},
      {"every-size", {"", "Print every size; otherwise the perturbed neighbours of a size are part of its row."}},
      {"overview",
       {"", "Print one screen: the verdict, the figures that stand for each device, and how far they can be trusted."}},
      {"html", {"FILE", "Write a page that needs nothing but a browser: verdict, causes, curves, provenance."}},
      {"share",
       {"FILE",
        "Write the figures of its GPUs to a file for others. The file has no host name, user name, path, UUID or bus "
        "address, and gives only the month."}},
      {"among",
       {"PATH",
        "Show where its GPUs stand among those of their model in this file of --share, or in all of this folder. May "
        "be repeated.",
        0, true}},
      {"published", {"", "Compare the parameters with what papers measured of the same architecture."}},
      {"other-hardware",
       {"",
        "Compare although the GPUs or the hosts' processors are of another model, and count what is slower on another "
        "card."}},
      {"all", {"", "Show everything, also what passes or did not change."}},
      {"markdown", {"", "Print tables as GitHub reads them."}},
      {"format", {"WORD", "csv: one table. json: the whole trace. npout: NetPIPE's five columns of one series."}},
      {"table",
       {"KIND",
        "csv: which table: transfers, probes, jobs, calls, partitions, energies, soaks, pieces, collectives or "
        "records."}},
      {"points", {"", "Print one row for each point."}},
      {"summary",
       {"",
        "csv: one row for each point in place of one for each sample, with value, interval, unit, device, host, date, "
        "clocks and marks. data/TABLES.md describes the columns."}},
  };
  return all;
}

}  // namespace npgpu::cli
