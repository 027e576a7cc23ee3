#!/usr/bin/env python3
"""Three questions to the Parquet of 10,000 nodes, answered by DuckDB; each is to take less than 10 s.

    duckdb_nodes.py build/default/npgpu [--nodes 10000] [--folder DIR]

The nodes are made from the kept traces of npgpu characterize (h200_run_c and _d, of one GPU): all their points and
facts, each node with a name and a GPU of its own and each number perturbed by a share of 0.3 %, twenty nodes with a link
of half the width or with memory that is 8 % slower. The tables are written as npgpu.parquet writes them, a hundred nodes
a file. Needs pyarrow and duckdb (pip install pyarrow duckdb)."""
import argparse
import contextlib
import os
import resource
import sys
import tempfile
import time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "plots"))
import npgpu  # noqa: E402
from npgpu.parquet import with_units  # noqa: E402

TRACES = [os.path.join(HERE, "..", "..", "data", "traces", f"h200_run_{x}.h5") for x in "cd"]
NOISY = ("value", "low", "high", "time_us", "time_low_us", "time_high_us", "min_us", "max_us")
BATCH = 100
DRIVERS = ("570.133.20", "580.95.05", "580.159.04")
MOST_S = 10

SLOW_GPUS = """
-- Which GPUs are slow, and in what? Of each series the median over its points of what a GPU is below the fleet's median at
-- that point, in robust standard deviations over all GPUs.
WITH fleet AS (SELECT kind, series, bytes, blocks, threads, ilp, lane, median(value) AS usual FROM points GROUP BY ALL),
residuals AS (
  SELECT p.host, p.device_uuid, p.kind, p.series, median(p.value / f.usual - 1) AS off
  FROM points p JOIN fleet f ON p.kind = f.kind AND p.series = f.series AND p.lane = f.lane
    AND p.bytes IS NOT DISTINCT FROM f.bytes AND p.blocks IS NOT DISTINCT FROM f.blocks
    AND p.threads IS NOT DISTINCT FROM f.threads AND p.ilp IS NOT DISTINCT FROM f.ilp
  GROUP BY ALL),
spread AS (SELECT kind, series, 1.4826 * mad(off) AS sigma FROM residuals GROUP BY ALL)
SELECT host, device_uuid, count(*) AS series, min(off) AS worst, min(off / sigma) AS z
FROM residuals JOIN spread USING (kind, series) WHERE off / sigma < -5 AND off < -0.03 GROUP BY ALL ORDER BY worst, host"""

DRIVER_QUESTION = """
-- Is a launch cheaper with a newer driver? Quartiles over nodes, by driver.
SELECT f.text AS driver, count(DISTINCT c.host) AS nodes, quantile_cont(time_us, [0.25, 0.5, 0.75]) AS launch_us
FROM calls c JOIN facts f ON c.run_uuid = f.run_uuid AND f.place = 'gpu0' AND f.fact = 'driver_version'
WHERE call = 'launch' AND manner = 'back-to-back' GROUP BY driver ORDER BY driver"""

DOUBTFUL = """
-- Which nodes' figures are in doubt? Points that did not converge or were disturbed, and the lowest clock, over all kinds.
SELECT host, count(*) AS points, count(*) FILTER (stop = 'not-converged') / count(*) AS not_converged,
  count(disturbed) / count(*) AS disturbed, min(sm_clock_mhz) AS lowest_mhz
FROM everything GROUP BY host ORDER BY not_converged DESC, host LIMIT 20"""


def templates(program):
    os.environ["NPGPU"] = os.path.abspath(program)
    return [{name: with_units(table) for name, table in npgpu.load(trace).frames().items()} for trace in TRACES]


def replaced(table, name, column):
    at = table.schema.get_field_index(name)
    return table if at < 0 else table.set_column(at, table.schema.field(name), column.cast(table.schema.field(name).type))


def as_node(table, number, sick, random):
    """The table of one node: its name, its GPU, its own numbers."""
    rows = len(table)
    for name, text in (("host", f"node{number:05d}"), ("run_uuid", f"{number:08d}-0000-4000-8000-000000000000")):
        table = replaced(table, name, pa.array([text]).dictionary_encode().take(pa.array(np.zeros(rows, dtype=np.int32))))
    if "device_uuid" in table.column_names:
        on_gpu = pa.compute.is_valid(table["device_uuid"])
        table = replaced(table, "device_uuid", pa.compute.if_else(on_gpu, f"GPU-{number:08d}", None))
    if "fact" in table.column_names:
        is_driver = pa.compute.equal(table["fact"], "driver_version")
        return replaced(table, "text", pa.compute.if_else(is_driver, DRIVERS[number % len(DRIVERS)], table["text"]))
    factor = np.exp(random.normal(0, 0.003)) * np.exp(random.normal(0, 0.003, rows))
    if sick == "link" and "direction" in table.column_names:
        factor[pa.compute.is_in(table["direction"], pa.array(["h2d", "d2h"])).to_numpy()] *= 0.5
    if sick == "memory" and "probe" in table.column_names:
        factor[pa.compute.equal(table["probe"], "bandwidth").to_numpy()] *= 0.92
    for name in NOISY:
        if name in table.column_names:
            is_time = name.endswith("_us")
            numbers = table[name].to_numpy() / factor if is_time else table[name].to_numpy() * factor
            table = replaced(table, name, pa.chunked_array([numbers]))
    return table


def make(program, folder, nodes):
    """The tables of all nodes; returns the names of the sick ones."""
    made, random = templates(program), np.random.default_rng(1)
    sick = {number: ("link", "memory")[i % 2] for i, number in enumerate(range(nodes // 40, nodes, max(1, nodes // 20)))}
    for first in range(0, nodes, BATCH):
        out = os.path.join(folder, f"batch{first // BATCH:04d}")
        os.makedirs(out)
        for name in made[0]:
            if name == "parameters":
                continue
            tables = [as_node(made[n % len(made)][name], n, sick.get(n), random) for n in range(first, min(first + BATCH, nodes))]
            # Columns that are empty in one template have its type in all.
            pyarrow.parquet.write_table(pa.concat_tables(tables), os.path.join(out, f"{name}.parquet"), compression="zstd")
    return {f"node{n:05d}": what for n, what in sick.items()}


def main():
    parser = argparse.ArgumentParser(description="Three questions to the Parquet of many nodes, answered by DuckDB.")
    parser.add_argument("program", help="npgpu")
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--folder", help="where the tables are made, if they are not there yet (default: a temporary one)")
    args = parser.parse_args()
    with contextlib.nullcontext(args.folder) if args.folder else tempfile.TemporaryDirectory(prefix="npgpu-nodes-") as folder:
        return ask(args, folder)


def ask(args, folder):
    sick = None
    if not os.path.isdir(os.path.join(folder, "batch0000")):
        begun = time.perf_counter()
        sick = make(args.program, folder, args.nodes)
        print(f"made in {time.perf_counter() - begun:.0f} s")
    size = sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(folder) for f in files)
    asked = duckdb.connect()
    files = lambda *kinds: "[" + ", ".join(f"'{folder}/*/{kind}.parquet'" for kind in kinds) + "]"
    for view, kinds in (("points", ("transfers", "probes")), ("calls", ("calls",)), ("facts", ("facts",)),
                        ("everything", ("transfers", "probes", "jobs", "calls"))):
        asked.sql(f"CREATE VIEW {view} AS SELECT * FROM read_parquet({files(*kinds)}, union_by_name = true)" +
                  (" WHERE device_uuid IS NOT NULL AND unit LIKE '%/s' AND value IS NOT NULL" if view == "points" else ""))
    rows = asked.sql("SELECT count(*) FROM everything").fetchall()[0][0]
    print(f"{rows} points of {args.nodes} nodes, {size / 1e9:.2f} GB of Parquet, {os.cpu_count()} cores, DuckDB {duckdb.__version__}")
    worst = 0
    for name, question in (("slow GPUs", SLOW_GPUS), ("launches by driver", DRIVER_QUESTION), ("doubtful figures", DOUBTFUL)):
        begun = time.perf_counter()
        answer = asked.sql(question).fetchall()
        took = time.perf_counter() - begun
        worst = max(worst, took)
        print(f"{name}: {took:.2f} s, {len(answer)} rows, such as {answer[0] if answer else None}")
        if name == "slow GPUs" and sick is not None:
            found = {row[0] for row in answer}
            print(f"  {len(found & set(sick))} of {len(sick)} sick nodes found, {len(found - set(sick))} others")
    print(f"most memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    return 1 if worst > MOST_S else 0


if __name__ == "__main__":
    sys.exit(main())
