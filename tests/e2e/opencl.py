"""Devices of OpenCL whose library is a fake: what is missing or goes wrong is said in one sentence, and what was measured
before stays."""
import json
import os
import sys

from npgpu_run import Checks, folder, run

FAKE = os.path.abspath(sys.argv[2])
check = Checks()


def fake(fault, *arguments):
    return run(*arguments, env={"NPGPU_OPENCL": FAKE, "FAKE_OPENCL": fault})


def sentence(result, code, text, what):
    told = [line for line in result.err.splitlines() if line.startswith("npgpu: ")]
    check(result.code == code and len(told) == 1 and text in told[0], f"{what}: {result.code}, {result.err!r}")


with folder() as where:
    trace = os.path.join(where, "t.h5")
    copies = ("transfer", "--device", "opencl:0", "--async", "--sizes", "1KiB,2MiB", "--output", trace, "--force")

    # What is not there.
    for words in (("info", "--device", "opencl:0"), copies, ("characterize", "--device", "opencl:0")):
        sentence(run(*words, env={"NPGPU_OPENCL": "/nowhere"}), 77,
                 "OpenCL is not there: /nowhere, which NPGPU_OPENCL names, cannot be opened", words)
        sentence(fake("no-platform", *words), 77, "but no OpenCL driver", words)
        sentence(fake("no-device", *words), 77, "none of its platforms has a device: Fakes", words)
        sentence(fake("", *words[:2], "opencl:3", *words[3:]), 2, "opencl:3 is not there: OpenCL shows opencl:0", words)
    sentence(run("info", "--device", "opencl:0", env={"NPGPU_OPENCL": sys.executable}), 77, "OpenCL is not there", "no library")

    # Two platforms, and a driver that knows no extension.
    two = json.loads(fake("two-platforms", "info", "--json").out)
    check(two["opencl:0"]["platform"] == "Fakes" and two["opencl:1"]["platform"] == "Other fakes", two.keys())
    check(two["opencl:1"]["pci_bus_id"] == "0000:5e:00.0" and two["opencl:1"]["name"] == "Another fake GPU", two["opencl:1"])
    bare = json.loads(fake("bare", "info", "--device", "opencl:0", "--json").out)["opencl:0"]
    check("pci_bus_id" not in bare and "uuid" not in bare and bare["compute_units"] == 4, bare)

    # A driver that answers what cannot be.
    for words in (("info", "--device", "opencl:0"), copies):
        sentence(fake("countless-platforms", *words), 77, "claims 4294967295 platforms", words)
        sentence(fake("countless-devices", *words), 77, "none of its platforms has a device", words)
        for fault in ("endless-texts", "zeros", "ones"):
            result = fake(fault, *words)
            check(result.code in (0, 1, 2, 77) and "terminate" not in result.err, f"{fault} {words}: {result.code} {result.err!r}")
            check("ffffffff:" not in result.out and "memory_bytes                 -1" not in result.out, result.out)
            check(result.code == 0 or result.err.count("npgpu: ") == 1, f"{fault} {words}: {result.code} {result.err!r}")

    # Nobody measures it unasked.
    plan = fake("", "characterize", "--dry-run")
    asked = [line for line in (plan.out + plan.err).splitlines() if "opencl" in line]
    no_gpu = "no GPU" in plan.out + plan.err
    check(plan.code == 0 and len(asked) == no_gpu, plan.out + plan.err)
    check(not no_gpu or "opencl:0 (Fake GPU) is measured when it is named: --device opencl:0" in asked[0], asked)

    # All that the module can do, and what it cannot.
    good = fake("", *copies, "--direction", "h2d,d2h,d2d", "--pattern", "stream,pingpong,duplex", "--timing", "event,gated",
                "--rounds", "1")
    check(good.code == 0 and "NOT RUN" not in good.out, good.out + good.err)
    blocking = fake("", "transfer", "--device", "opencl:0", "--direction", "h2d,d2h", "--memory", "pinned,pageable",
                    "--pattern", "stream,pingpong,duplex", "--executor", "copy-engine,cpu", "--sizes", "1KiB", "--rounds", "1",
                    "--output", trace, "--force")
    check(blocking.code == 0 and "NOT RUN" not in blocking.out, blocking.out + blocking.err)
    for words, text in ((("--direction", "d2d"), "has no blocking form: add --async"), (("--direction", "h2h"), "use h2d, d2h"),
                        (("--memory", "write-combined"), "pageable and pinned memory"), (("--memory", "managed"), "pageable"),
                        (("--pattern", "chase"), "has no kernels"), (("--executor", "sm-kernel", "--async"), "has no kernels"),
                        (("--executor", "cpu", "--async"), "--timing host without --async"),
                        (("--direction", "peer", "--to", "opencl:1"), "clEnqueue copies between the host and one device")):
        refused = fake("two-platforms", "transfer", "--device", "opencl:0", "--sizes", "1KiB", "--output", trace, "--force",
                       *words)
        check(refused.code == 2 and text in refused.err, f"{words}: {refused.code} {refused.err}")

    # What goes wrong while it runs: the reason is printed, the rest is measured and kept.
    for fault, text in (("no-memory", "MiB of pinned memory"), ("no-memory", "CL_MEM_OBJECT_ALLOCATION_FAILURE"),
                        ("no-profile", "no profile of its commands: use --timing host"), ("wrong", "byte 1048576 of 2097152 is")):
        failed = fake(fault, *copies, "--rounds", "1")
        check(failed.code == 1 and text.replace("MiB", "bytes") in failed.err, f"{fault}: {failed.code} {failed.err}")
        check(run("report", trace).code == 0, f"{fault}: the trace cannot be read")
    # Kernels of the fake do nothing, which is found in each job's words.
    idle = fake("", "streams", "--device", "opencl:0", "--bytes-in", "64KiB", "--bytes-out", "64KiB", "--iterations", "3", "--chunks",
                "2", "--threads", "64", "--rounds", "1", "--output", trace, "--force")
    check(idle.code == 1 and "the kernel that compares it did not run" in idle.err, idle.err)
    unbuilt = fake("no-build", "calls", "--device", "opencl:0", "--call", "launch", "--rounds", "1", "--output", trace, "--force")
    check(unbuilt.code == 1 and "building a program for opencl:0: line 1: the compiler of a test builds nothing: "
          "CL_BUILD_PROGRAM_FAILURE" in unbuilt.err, unbuilt.err)
    # More commands than a visit of 700 has, and fewer than 100 visits have, however fast the machine is.
    lost = fake("lost=10000", *copies[:5], "2MiB", "--output", trace, "--force", "--schedule", "classic", "--repeats", "100",
                "--rounds", "100")
    check(lost.code == 1 and "opencl:0 is lost (its driver says that it is not available)" in lost.err, lost.err)
    check("clEnqueueUnmap" not in lost.err, lost.err)
    kept = run("report", trace)
    check(kept.code == 0 and "1 point" in kept.out and "STOPPED" in kept.out, kept.out)

check.finish()
