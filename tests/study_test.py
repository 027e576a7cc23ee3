"""The study of predictions, in numbers that can be checked by hand: fits, models, scores, and what is printed of them.

    study_test.py
"""
import json
import math
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "plots"), os.path.join(HERE, "e2e")]
os.environ["COLUMNS"] = "120"
from npgpu.study import fits, models, scores, statistics, text  # noqa: E402
from npgpu.study.jobs import Stages  # noqa: E402
from npgpu_run import Checks  # noqa: E402

check = Checks()


def near(a, b, tolerance=1e-9):
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def job(measured, whole=(1000.0, 1000.0, 1000.0), simulator=None, regrets=None, bytes_in=1_000_000, bytes_out=1_000_000, bounds=0.0, measuring=(),
        order="breadth-first"):
    """A job as the program writes it: nothing costs but its stages, which n chunks divide. The simulator has the pipeline's
    time, the sum of a chunk's stages and n - 1 more of the longest."""
    pipeline = lambda n: (sum(whole) + (n - 1) * max(whole)) / n
    points = [{"streams": n, "measured_us": us, "low_us": us - bounds, "high_us": us + bounds,
               "predicted_us": us if n == 1 else (simulator or pipeline)(n), "as_host_was_us": us if n == 1 else (simulator or pipeline)(n),
               "chunk_us": dict(zip(("h2d", "kernel", "d2h"), (stage / n for stage in whole))),
               "regret": dict(zip(("value", "low", "high"), (regrets or {}).get(n, [None] * 3)))} for n, us in measured.items()]
    return {"workload": "memory", "order": order, "pool": "pooled", "bytes_in": bytes_in, "bytes_out": bytes_out, "kernel_bytes": 4096,
            "iterations": 7, "threads": 512, "kernel_us": whole[1], "points": points, "measuring": list(measuring)}


def document(jobs, others=(), calls=(None, None, None), **more):
    none = {"h2d": 0.0, "kernel": 0.0, "d2h": 0.0}
    return {"document": "npgpu-predicted-jobs", "version": 1, "device": "cuda:0", "device_name": "Test GPU", "simulated": False, "jobs": jobs,
            "others": list(others), "graphs": [], "in_turn": [], "left_out": [],
            "calls_over_costs": dict(zip(("value", "low", "high"), calls)),
            "costs_us": {"stream_create": 0.0, "submit": 0.0, "duplex_extra_gap": 0.0, "gap": none, "latency": none, "issue": none}, **more}


def of(found, name):
    return next(m for m in found["models"] if m["model"] == name)


def statistics_by_hand():
    spread = statistics.spread(range(1, 21))
    check(spread == {"median": 10.5, "p95": 19, "most": 20}, f"of 1 to 20: {spread}")
    check(math.isnan(statistics.spread([])["median"]), "of nothing there is no median")
    Regret = lambda value, low: type("R", (), {"value": value, "low": low})
    found = statistics.cross_validated([Regret(v / 100, v / 100 - 0.02) for v in range(1, 21)] + [Regret(math.nan, math.nan)])
    check(found["choices"] == 20 and near(found["mean"], 0.105) and near(found["median"], 0.105) and found["worse"] == 18
          and near(found["p5"], 0.02) and near(found["p95"], 0.19), f"of many choices: {found}")


def fits_by_hand():
    # y = 2 + 3 x exactly, over four orders of magnitude.
    fit = fits.RelativeFit()
    for group, features, offset, measured in ((0, (1, 1), 0, 5), (0, (1, 10), 0, 32), (1, (1, 1000), 0, 3002), (1, (1, 10000), 100, 30102)):
        fit.add(group, features, offset, measured)
    check(all(map(near, fit.solve(), (2, 3))), f"a line: {fit.solve()}")
    # Leaving a group out is as never having seen it.
    everything, rest = fits.RelativeFit(), fits.RelativeFit()
    for group in range(20):
        for n in (1, 2, 3, 4):
            row = (1e6 * (group + 1), math.log10(n), 1)
            measured = 2000 + 100 * group + 37 * n + 11 * math.sin(7 * group + n)
            everything.add(group, row, 50 * n, measured)
            if group != 7:
                rest.add(group, row, 50 * n, measured)
    without, never = everything.solve(7), rest.solve()
    check(len(without) == 3 and all(near(a, b, 1e-10) for a, b in zip(without, never)), f"without a group: {without}, {never}")
    check(not near(everything.solve(0)[0], without[0], 1e-10), "another group's rows are not the same")
    alone = fits.RelativeFit()
    alone.add(0, (1,), 0, 1)
    check(alone.solve(0) == [] and fits.RelativeFit().solve() == [], "without rows there is nothing to fit")
    # Features that cannot be told apart still fit.
    alike = fits.RelativeFit()
    for n in (1.0, 2.0, 4.0):
        alike.add(0, (64e6 * n, n, 1), 0, 100 + 10 * n)
    x = alike.solve()
    check(all(near(x[0] * 64e6 * n + x[1] * n + x[2], 100 + 10 * n) for n in (1, 2, 4)), f"bytes that are a constant times n: {x}")
    same = fits.RelativeFit()
    for n in (1.0, 2.0, 4.0):
        same.add(0, (2, 1), 0, 10)
    # Scaled to length 1 the columns are equal: the shortest solution has both the same.
    check(all(map(near, same.solve(), (2.5, 5))), f"the shortest of many solutions: {same.solve()}")


def errors_regrets_and_hits():
    # The simulator says 2000, 1500 and 1250 us; 8 are measured as 1500, so that 4, 1400, are best.
    found = scores.evaluate(document([job({1: 3000.0, 2: 2000.0, 4: 1400.0, 8: 1500.0})]))
    one = found["workloads"][0]
    check((one["kernel_us"], one["best"], one["predicted_best"]) == (1000, 4, 8), f"{one}")
    simulator = of(found, "simulator")
    check(near(simulator["error"]["median"], 1500 / 1400 - 1), f"of 0, 7.1 % and 16.7 %: {simulator['error']}")
    check(near(simulator["error"]["most"], 1 - 1250 / 1500) and near(simulator["regret"]["most"], 1500 / 1400 - 1) and simulator["hits"] == 0, f"{simulator}")
    check(near(of(found, "n = 1")["regret"]["median"], 3000 / 1400 - 1), "one stream")
    check(near(of(found, "Best Practices Guide")["error"]["most"], 2250 / 1400 - 1), "2000 + 1000/4")
    check(near(of(found, "c.c. 2.x")["error"]["most"], 2250 / 1400 - 1), "where H >= E: 1000 + 1000/n + 1000, the same")
    check(simulator["cross_validated"]["choices"] == 0 and simulator["cross_validated"]["mean"] is None, "one round alone has no such regret")
    known = [p["predicted_us"][0] for p in one["models"] if p["predicted_us"][0] is not None]
    check(len(known) > 5 and set(known) == {3000}, f"each model knows the unsplit time: {known}")
    # R2 and RMSE of 2000, 1500, 1250 against 2000, 1400, 1500.
    left = 100**2 + 250**2
    mean = 4900 / 3
    check(near(simulator["rmse_us"], math.sqrt(left / 3)) and
          near(simulator["r2"], 1 - left / sum((t - mean) ** 2 for t in (2000, 1400, 1500))), f"{simulator}")
    # Within the noise of both.
    hit = scores.evaluate(document([job({1: 3000.0, 2: 2000.0, 4: 1400.0, 8: 1500.0}, bounds=50.0)]))
    check(of(hit, "simulator")["hits"] == 1 and of(hit, "n = 1")["hits"] == 0, "1450 reaches 1450")


def regrets_of_rounds():
    regrets = {1: (3000 / 1300 - 1, 1.1, 1.4), 2: (0.5, 0.4, 0.6), 4: (0.1, -0.1, 0.2), 8: (0.0, -0.01, 0.01)}
    found = scores.evaluate(document([job({1: 3000.0, 2: 2000.0, 4: 1500.0, 8: 1300.0}, regrets=regrets, measuring=[0.0, 0.02])]))
    simulator = of(found, "simulator")
    check(simulator["cross_validated"]["choices"] == 1 and simulator["cross_validated"]["median"] == 0, f"8, as it chooses: {simulator}")
    one = found["workloads"][0]["models"][0]
    check((one["cross_validated"], one["cross_validated_low"], one["advised_cross_validated"]) == (0, -0.01, 0), f"{one}")
    unsplit = of(found, "n = 1")["cross_validated"]
    check(near(unsplit["median"], 3000 / 1300 - 1) and unsplit["worse"] == 1, f"{unsplit}")
    check(found["measuring"] == {"median": 0.01, "p95": 0.02, "most": 0.02}, f"{found['measuring']}")


def the_advised_number():
    # 0.1, 10 and 0.1 ms: n chunks take 10 + 0.2/n ms, so that two are 1 % slower than the best and one is not enough.
    found = scores.evaluate(document([job({1: 10200.0, 2: 10150.0, 4: 10060.0, 8: 10030.0}, (100.0, 10000.0, 100.0))]))
    one = found["workloads"][0]["models"][0]
    check((one["predicted_best"], one["advised"]) == (8, 2), f"the fewest within 1 %: {one}")
    check(near(of(found, "simulator")["advised_regret"]["most"], 10150 / 10030 - 1), "its regret is measured")
    constant = of(found, "best constant n")
    check(constant["advised_regret"]["most"] == constant["regret"]["most"], "a model that only chooses advises its choice")


def fitted_models_never_see_the_job():
    # All alike but in size: 8 streams everywhere, and u (1 - 1/n) + t n leaves nothing over.
    sizes = (1_000_000, 2_000_000, 3_000_000)
    jobs = [job({n: size * 1e-3 * (2 + n) / n for n in (1, 2, 4, 8)}, (size * 1e-3,) * 3, bytes_in=size, bytes_out=size) for size in sizes]
    found = scores.evaluate(document(jobs))
    check(near(of(found, "best constant n")["regret"]["most"], 0), "8 everywhere")
    check(of(found, "u (1-1/n) + t n")["error"]["most"] < 1e-6 and of(found, "simulator")["error"]["most"] < 1e-6, "nothing is left over")
    # Three that are best in 8 streams and one in 2: told of itself, the constant of that one would be another.
    odd = [job({1: 3000.0, 2: 1000.0 if at == 3 else 2000.0, 4: 1500.0, 8: 1250.0}) for at in range(4)]
    chosen = [next(m for m in w["models"] if m["model"] == "best constant n")["predicted_best"] for w in scores.evaluate(document(odd))["workloads"]]
    check(chosen == [8, 8, 8, 8], f"{chosen}")


def each_models_times():
    # 1 ms in, 4 ms of kernel, 2 ms out.
    found = scores.evaluate(document([job({1: 7000.0, 2: 5500.0, 4: 4750.0, 8: 5000.0}, (1000.0, 4000.0, 2000.0), bytes_out=2_000_000)]))
    one = found["workloads"][0]
    check((one["h2d_us"], one["kernel_us"], one["d2h_us"]) == (1000, 4000, 2000), f"{one}")
    check([m["model"] for m in one["models"]] == [m["model"] for m in found["models"]] and len(found["models"]) == 14, "as the scores")
    us = {m["model"]: m["predicted_us"] for m in one["models"]}
    check(near(us["simulator"][2], 4750) and one["predicted_best"] == 8 and near(one["regret"], 5000 / 4750 - 1), "(1 + 2)/4 + 4")
    check(not one["models"][0]["hit"] and us["n = 1"][3] == 7000 and near(us["c.c. 2.x"][2], 6250), "1/4 + 4 + 2")
    check(us["u (1-1/n) + t n"] == [None] * 4, "there is no other workload to fit it to")
    check(us["best constant n"] == [None] * 4, "it only chooses")
    supposed = {h["hypothesis"]: h["predicted_us"][2] for h in one["hypotheses"]}
    check(supposed == {"dominant kernel": 4750, "dominant transfers": 4000, "dominant kernel, h2d hidden": 6250, "dominant kernel, d2h hidden": 5500},
          f"4 + (1 + 2)/4, 1 + 2 + 4/4, 4 + 1/4 + 2, 4 + 2/4 + 1: {supposed}")


def choices_between_measured_numbers():
    # c.c. 1.x, corrected, wants 5.2 of 4 and 8: the neighbour that it likes better, by its own times.
    wants = models.Model("m", "s", lambda job, at: [9, 7, 6, 5][at], lambda job: 5.2)
    told = scores.jobs.Job(job({1: 3000.0, 2: 2000.0, 4: 1400.0, 8: 1500.0}))
    check(scores.choice_of(wants, told, [9, 7, 6, 5]) == 3 and scores.choice_of(wants, told, [9, 7, 4, 5]) == 2, "by its times")
    check(scores.choice_of(wants, told, []) == 2, "nearest, without any")
    for wanted, place in ((1.0, 0), (2.0, 1), (0.3, 0), (400.0, 3), (math.inf, 3)):
        check(scores.choice_of(models.Model("m", "s", None, lambda job: wanted), told, []) == place, f"{wanted}")


def others_are_in_no_score():
    scored = job({n: 1000.0 * (2 + n) / n for n in (1, 2, 4, 8)})
    few = job({1: 6000.0, 16: 375.0}, (2000.0,) * 3, bytes_in=2_000_000, bytes_out=2_000_000)
    found = scores.evaluate(document([scored], [few]))
    check(found["models"][0]["workloads"] == 1 and near(found["models"][0]["regret"]["most"], 0), f"{found['models'][0]}")
    other = found["others"][0]
    check(near(other["models"][0]["predicted_us"][1], 2250), "(2 + 16)/16 of 2 ms")
    check(near(other["models"][-1]["predicted_us"][1], 2250), "fitted to the one that is scored")
    none = scores.evaluate(document([], [few]))
    check(none["workloads"] == [] and none["models"][0]["error"]["median"] is None and none["models"][0]["hits"] is None, "nothing is scored")
    # Apart they are scored, by models that have no need of a fit: 2250 predicted, 375 measured.
    check(none["others_models"][0]["error"]["most"] == 5 and none["others_models"][0]["workloads"] == 1, f"{none['others_models'][0]}")
    printed = text.report(none)
    check(printed.startswith("predictions compared with 1 measured workload on") and "Of 1 workload in streams that were made" in printed, printed)
    check(cells(printed, "simulator")[0] == "500.00" and "\n  u (1-1/n) + t n" not in printed and "-  -" not in printed, printed)


def closed_forms():
    whole = Stages(1000.0, 4000.0, 2000.0)
    check(models.best_practices_kernel(whole, 4) == 4750 and models.best_practices_transfers(whole, 4) == 4000, "the Guide")
    check(models.cc1(whole, 10, 4) == 4000 + 750 + 40 and models.cc1(Stages(3000.0, 1000.0, 2000.0), 10, 4) == 5040, "(1) and (3)")
    check(near(models.cc1_optimum(whole, 30), 10) and near(models.cc1_optimum_as_printed(whole, 30), 10), "(4): sqrt(3000/30)")
    long_copies = Stages(3000.0, 4000.0, 2000.0)
    check(near(models.cc1_optimum_as_printed(long_copies, 5), 5) and near(models.cc1_optimum(long_copies, 5), 5), "(2): 5/(5 - 4)")
    check(near(models.cc1_optimum(long_copies, 500), math.sqrt(10)), "streams that cost more: the lesser of both")
    check(models.cc1_optimum(Stages(9000.0, 0.0, 0.0), 5) == 1, "never less than one")
    check(models.cc2(whole, 10, 4) == 4000 + 250 + 2000 + 40 and near(models.cc2_optimum(whole, 10), 10), "(7) and (8)")
    check(models.cc2(Stages(4000.0, 1000.0, 2000.0), 10, 4) == 4000 + 250 + 2000 + 40, "(5)")
    check(models.cc2_optimum(whole, 0) == math.inf and math.isinf(models.cc1_optimum(whole, 0)), "streams that cost nothing")
    check(models.van_werkhoven(whole, 4) == 4750 and models.dominant_stage(whole, 10, 4) == 4780, "two engines")
    # Chunks of 1, 4 and 2 us: a first one of 7, then three more kernels; latencies of 0.5 and 0.25 us once.
    check(models.two_engines_breadth_first(Stages(1.0, 4.0, 2.0), Stages(0.5, 0.25, 0.0), Stages(0.1, 0.1, 0.1), 4) == 0.1 + 7.75 + 12, "exact")
    check(near(models.two_engines_breadth_first(Stages(1.0, 1.0, 1.0), Stages(0.0, 0.0, 0.0), Stages(3.0, 3.0, 3.0), 4), 4 * 6 + 3 + 1 + 9),
          "the host is the bottleneck")


def what_is_wrong_with_equation_2():
    """19.99 ms of kernel beside 20 ms of transfers: (2) wants 2000 streams, which cost 200 ms."""
    whole, t_sc = Stages(10e3, 19.99e3, 10e3), 100.0
    check(near(models.cc1_optimum_as_printed(whole, t_sc), 2000, 1e-6) and near(models.cc1_optimum(whole, t_sc), math.sqrt(200)), "(2) diverges")
    check(near(models.cc1(whole, t_sc, 2000), 220e3) and near(models.cc1(whole, t_sc, 14), 19.99e3 + 20e3 / 14 + 1.4e3), "the corrected one does not")
    check(near(models.cc1_optimum(Stages(10e3, 10e3, 10e3), t_sc), 2), "where streams are cheap, (2) is right")
    draw, worst = random.Random(8), 1.0
    between = lambda low, high: low * (high / low) ** draw.random()  # over powers of ten, all equally likely
    for _ in range(2000):
        transfers, t_sc = between(1e3, 100e3), between(10, 300)
        whole = Stages(transfers * 0.4, transfers * between(0.1, 10), transfers * 0.6)
        near_optimum = lambda optimum: min(models.cc1(whole, t_sc, max(1, n)) for n in (math.floor(optimum), math.ceil(optimum)))
        best = min(models.cc1(whole, t_sc, n) for n in range(1, int(4 * math.sqrt(transfers / t_sc)) + 3))
        if near_optimum(models.cc1_optimum(whole, t_sc)) > best * (1 + 1e-12):
            return check(False, f"a regret with the corrected optimum: {whole}, {t_sc}")
        worst = max(worst, near_optimum(models.cc1_optimum_as_printed(whole, t_sc)) / best)
    return check(worst > 10, f"with (2) it is {worst} times as long")


def cells(printed, name):
    line = next(line for line in printed.splitlines() if line.startswith(f"  {name} "))
    return line[3 + len(name):].split()


def as_text():
    regrets = {1: (0.875, 0.8, 0.9), 2: (0.0625, 0.01, 0.07), 4: (0.02, -0.01, 0.05)}
    made = document([job({1: 300.0, 2: 200.0, 4: 160.0}, (100.0, 100.0, 100.0), {2: 210.0, 4: 152.0}.get, regrets, 1 << 20, 2 << 20,
                         measuring=[0.001, 0.0284], order="depth-first")], calls=(1.0625, 1.05, 1.07), left_out=[{"reason": "disturbed", "times": 3, "text": "3 times disturbed by others"}],
                    in_turn=[{"chunks": 4, "streams": 2, "measured_us": 100.0, "predicted_us": 90.0}])
    found = scores.evaluate(made)
    printed = text.report(found)
    check(printed.startswith("predictions compared with 1 measured workload on Test GPU\n"), printed[:80])
    check(cells(printed, "simulator") == ["5.00", "5.00", "5.00", "0.00", "0.00", "0.00", "0.00", "0.00", "100", "0.7950"], f"{cells(printed, 'simulator')}")
    check(cells(printed, "n = 1")[3:9] == ["87.50", "87.50", "87.50", "87.50", "87.50", "0"], f"{cells(printed, 'n = 1')}")
    check(cells(printed, "best constant n")[:3] == ["-", "-", "-"], "what was not predicted is a dash")
    words = " ".join(printed.split())
    for said in ("time with the number of streams that the model chose among", "The host's calls took 1.06 times as long as the costs say (1.05 .. 1.07)",
                 "1.47 % in the median and 2.84 % at the", "Left out: 3 times disturbed by others.",
                 "1 split measured, |error| 10.00 % in the median", "Noise widens both tails alike"):
        check(said in words, f"'{said}' is said: {words}")
    check(cells(printed, "simulator, as advised") == ["1", "2.00", "2.00", "2.00", "2.00", "0"], f"{cells(printed, 'simulator, as advised')}")
    check(cells(printed, "of 300 us to 1 ms") == ["1", "5.00", "5.00", "5.00"], "5 % at two streams and at four")
    check("1 MiB in" not in printed, "no job")
    full = text.report(found, True)
    check("1 MiB in, 100.0 us of memory kernel, 2 MiB out, depth-first: best 4, predicted 4, regret 0.00 %, cross-validated 2.00 % [-1.00, 5.00] "
          "1:300.0 us +0.0 %, 2:200.0 us +5.0 %, 4:160.0 us -5.0 %" in " ".join(full.split()), full[-400:])
    plain = text.report(scores.evaluate(document([job({1: 300.0, 2: 200.0, 4: 160.0}, (100.0,) * 3)], simulated=True)))
    check(plain.startswith("SIMULATED predictions") and "The host's calls" not in plain and "Measuring in place" not in plain, plain[:200])
    check("There is no cross-validated regret" in plain, "and why")
    turned = text.report(scores.evaluate(document([], in_turn=made["in_turn"])))
    check("1 split measured" in turned and "model" not in turned, f"nothing but chunks in turn: {turned}")
    for size, said in ((70272, "70272 B"), (93440, "91.25 KiB"), (64_000_000, "64 MB"), (3 << 19, "1.5 MiB"), (2 << 30, "2 GiB")):
        check(text.exact_size(size) == said, f"{size}: {text.exact_size(size)}")
    for us, said in ((0.0284, "28.40 ns"), (999.97, "1.000 ms"), (1510.4, "1.510 ms"), (300.0, "300.0 us"), (2.5e6, "2.500 s")):
        check(text.time_text(us) == said, f"{us}: {text.time_text(us)}")


def graphs_as_text():
    points = lambda *rows: [dict(zip(("streams", "measured_us", "predicted_us"), row)) for row in rows]
    both = {"job": {"bytes_in": 800_000, "bytes_out": 800_000}, "kernel_us": 800.0,
            "streams": points((1, 2410.0, 2410.0), (2, 1610.0, 1610.0), (8, 1010.0, 1010.0)),
            "graph": points((1, 2400.0, 2401.5), (2, 1500.0, 1601.5), (8, 990.0, 1000.0))}
    printed = text.report(scores.evaluate(document([job({1: 300.0, 2: 200.0, 4: 160.0})], graphs=[both])))
    for said in ("1 job as CUDA graphs and in streams", "1.010 ms in  8", "990.0 us in  8", "+2.0"):
        check(said in printed, f"'{said}': {printed}")
    check("6.77 % at the 95th" in " ".join(printed.split()), "the graphs' errors: 1601.5 of 1500")


def as_json():
    found = json.loads(json.dumps(scores.evaluate(document([job({1: 300.0, 2: 200.0, 4: 160.0}, (100.0,) * 3, {2: 210.0, 4: 152.0}.get, bounds=1.0)]))))
    check((found["document"], found["version"], found["device_name"], found["simulated"]) == ("npgpu-evaluation", 1, "Test GPU", False), "head")
    check(found["calls_over_costs"] == {"value": None, "low": None, "high": None} and found["measuring"]["median"] is None, "null is not measured")
    check(found["by_length"][1]["workloads"] == 1 and found["by_length"][3]["to_us"] is None, f"{found['by_length']}")
    one = found["workloads"][0]
    check([one[key] for key in ("workload", "order", "iterations", "threads", "kernel_us", "best")] == ["memory", "breadth-first", 7, 512, 100, 4], f"{one}")
    check(one["points"][1] == {"streams": 2, "measured_us": 200, "low_us": 199, "high_us": 201, "predicted_us": 210}, f"{one['points'][1]}")
    constant = of(found, "best constant n")
    check(constant["fitted"] == 1 and constant["r2"] is None and constant["error"]["median"] is None, f"{constant}")


for test in (statistics_by_hand, fits_by_hand, errors_regrets_and_hits, regrets_of_rounds, the_advised_number, fitted_models_never_see_the_job,
             each_models_times, choices_between_measured_numbers, others_are_in_no_score, closed_forms, what_is_wrong_with_equation_2, as_text, graphs_as_text, as_json):
    test()
check.finish()
