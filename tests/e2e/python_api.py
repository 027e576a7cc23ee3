"""The Python package asks the program: measures, checks and predicts, and returns data frames."""
import gc
import os

from npgpu_run import SOURCE, Checks, folder, needs

needs("h5py", "pandas")
import npgpu  # noqa: E402

check = Checks()


def refusal(ask):
    try:
        ask()
    except npgpu.ProgramFailed as told:
        return str(told)
    return None


check({"load", "measure", "check", "compare", "fleet", "predict", "Tables"} <= set(dir(npgpu)), f"dir: {dir(npgpu)}")
check(npgpu.__version__.count(".") == 2 and npgpu.__version__[0].isdigit(), f"version {npgpu.__version__}")

copies = npgpu.measure("transfer", device="sim:h200", direction=["h2d", "d2h"], memory="pinned", async_=True, timing="gated",
                       sizes="8,64MiB", rounds=2)
kept = copies.files[0]
check(set(copies.transfers["direction"]) == {"h2d", "d2h"} and len(copies.transfers) == 4, f"four copies: {copies.transfers}")
large = copies.transfers[copies.transfers["bytes"] == 64 << 20]
check(((large["value"] > 54e9) & (large["value"] < 57e9)).all(), f"as fast as the model: {large['value'].tolist()}")
check(os.path.exists(kept), "the trace stays with its tables")
del copies, large
gc.collect()
check(not os.path.exists(kept), "and goes with them")

with folder() as where:
    path = os.path.join(where, "probes.h5")
    probes = npgpu.measure("probe", "compute", device="sim:h200", output=path)
    check(os.path.exists(path) and len(probes.probes) > 10, "a named output is kept")
    told = refusal(lambda: npgpu.measure("probe", "compute", device="sim:h200", output=path))
    check(told and path in told, f"and not written over: {told}")

told = refusal(lambda: npgpu.measure("transfer", device="sim:h200", sizes="-8"))
check(told and "--sizes" in told, f"what the program refuses is said in its words: {told}")

healthy = npgpu.check(device="sim:h200-node", level=1)
check(healthy.ok and healthy.verdict == "ok" and len(healthy.wrong) == 0, repr(healthy))
check(healthy.gpus["id"].tolist() == ["sim:h200-node"] and "h2d_rate" in set(healthy.findings["metric"]), "with its findings")
sick = npgpu.check(device="sim:" + os.path.join(SOURCE, "data/devices/models/h100-pcie.json"), expect="name=H200", level=1)
check(not sick.ok and sick.exit_code == 6 and "name" in " ".join(sick.wrong["metric"]), f"{sick!r} {sick.wrong}")
check("BROKEN" in sick._repr_html_(), "a notebook shows it")
check(npgpu.check(os.path.join(SOURCE, "data/traces/h200_run_a.h5")).ok, "a kept trace")

check(len(healthy.key_figures) > 5 and set(healthy.key_figures["device"]) == {"sim:h200-node"}, "key figures")

may, june = (os.path.join(SOURCE, "data/traces", f"h100_quick_{x}.h5") for x in "ab")
change = npgpu.compare(may, [june])
check(change.outcome == change.document["outcome"] and len(change.figures) > 20 and len(change.cases) > 60, repr(change))
check(set(change.key_figures["side"]) == {"a", "b"} and set(change.changed["verdict"]) <= {"slower", "faster"}, "both sides")
other = npgpu.compare(may, os.path.join(SOURCE, "data/traces/h200_check.h5"))
check(other.outcome == "other-hardware" and other.figures.empty and other.cases.empty and other.changed.empty, repr(other))
check("npgpu compare" not in (refusal(lambda: npgpu.compare(may, "nosuch.h5")) or "npgpu compare"), "what is refused is said")
with folder() as where:
    kept = [os.path.join(where, f"{name}.h5") for name in ("fine", "sick")]
    for path, device in zip(kept, ("sim:h200-node", "sim:sick/half-the-lanes")):
        npgpu.check(device=device, level=1, output=path)
    fleet = npgpu.fleet(where)
    check(len(fleet.suspects) == 1 and fleet.suspects["device"].tolist() == ["sim:sick/half-the-lanes"], fleet.suspects.to_string())
    check("lanes" in fleet.suspects["cause"][0] and fleet.groups["gpus"].sum() == 2, fleet.suspects.to_string())
    same = npgpu.check(kept[1]).key_figures.set_index("metric").value
    check((fleet.key_figures[fleet.key_figures["device"] == "sim:sick/half-the-lanes"].set_index("metric").value == same).all(), "the numbers of check")

job = npgpu.predict(os.path.join(SOURCE, "data/traces/h200_streams.h5"), bytes_in="64MiB", kernel_ms=1, bytes_out="64MiB")
check(2 < job.streams <= job.best["streams"] and job.time_us < 0.6 * job.candidates["time_us"].iloc[0], repr(job))
check(refusal(lambda: npgpu.predict(os.path.join(SOURCE, "data/traces/host.h5"), bytes_in="1MiB")) is not None, "no costs, no answer")
check.finish()
