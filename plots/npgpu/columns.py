"""Columns of the tables: which are numbers, and their units. data/TABLES.md says what each means."""

COUNTS = {"series", "lane", "visits", "visits_counted", "trials", "simulated", "async", "bind", "host_node", "source_offset_bytes", "chunk_bytes",
          "target_offset_bytes",
          # axes
          "bytes", "blocks", "threads", "ilp", "access_bytes", "one_block_per_sm", "stride", "offset_bytes", "ways", "rung", "m", "n", "k", "panels",
          "registers", "shared_bytes", "intensity", "cluster", "alpha", "beta", "host_columns", "sm",
          "bytes_in", "bytes_out", "kernel_bytes", "iterations", "chunks", "streams", "nodes", "size", "sub_system",
          "duty_percent", "window_ms", "length_ms", "pieces", "piece_bytes", "in_place",
          "process", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "static_shared_bytes", "dynamic_shared_bytes"}
MEASURES = {"value", "low", "high", "time_us", "time_low_us", "time_high_us", "min_us", "max_us", "sm_clock_mhz",
            "memory_clock_mhz", "power_w", "temperature_c", "number", "reference"}

RUN = ["run_uuid", "host", "date"]
FACTS = [*RUN, "place", "fact", "text", "number"]
PARAMETERS = [*RUN, "device", "device_name", "simulated", "name", "value", "low", "high", "unit", "method", "meaning",
              "reference", "reference_source", "verdict", "note"]

# Of a table without a row. tests/tables_test.py compares them with what the program writes.
OF_KIND = {
    "transfers": (
        "run_uuid host date kind series case_name module source target pattern direction memory async timing "
        "cache executor access source_offset_bytes target_offset_bytes bind host_node chunk_bytes beside "
        "more_lanes device_uuid device_name simulated bytes lane value low high unit counts time_us time_low_us "
        "time_high_us min_us max_us visits visits_counted trials sm_clock_mhz memory_clock_mhz power_w "
        "temperature_c stop disturbed disturbed_by unusable").split(),
    "probes": (
        "run_uuid host date kind series case_name probe device operation type form space device_uuid device_name "
        "simulated blocks threads ilp access_bytes bytes one_block_per_sm stride offset_bytes ways rung m n k "
        "panels registers shared_bytes operands intensity cluster pages ops alpha beta host_columns sm lane value low high unit counts time_us time_low_us "
        "time_high_us min_us max_us visits visits_counted trials sm_clock_mhz memory_clock_mhz power_w temperature_c stop disturbed "
        "disturbed_by unusable").split(),
    "jobs": (
        "run_uuid host date kind series case_name device workload order pool gating issue device_uuid "
        "device_name simulated bytes_in bytes_out kernel_bytes iterations chunks streams threads lane value low "
        "high unit counts time_us time_low_us time_high_us min_us max_us visits visits_counted trials "
        "sm_clock_mhz memory_clock_mhz power_w temperature_c stop disturbed disturbed_by unusable").split(),
    "calls": (
        "run_uuid host date kind series case_name device call manner form beside function device_uuid device_name "
        "simulated bytes blocks nodes lane value low high unit counts time_us time_low_us time_high_us min_us "
        "max_us visits visits_counted trials sm_clock_mhz memory_clock_mhz power_w temperature_c stop disturbed "
        "disturbed_by unusable").split(),
    "partitions": (
        "run_uuid host date kind series case_name device type timed device_uuid device_name simulated size "
        "sub_system chunks streams lane value low high unit counts time_us time_low_us time_high_us min_us "
        "max_us visits visits_counted trials sm_clock_mhz memory_clock_mhz power_w temperature_c stop disturbed "
        "disturbed_by unusable").split(),
    "energies": (
        "run_uuid host date kind series case_name device work type space operands target device_uuid device_name "
        "simulated duty_percent window_ms lane value low high unit counts time_us time_low_us time_high_us min_us "
        "max_us visits visits_counted trials sm_clock_mhz memory_clock_mhz power_w temperature_c stop disturbed "
        "disturbed_by unusable").split(),
    "soaks": (
        "run_uuid host date kind series case_name device load target device_uuid device_name simulated number length_ms "
        "lane value low high unit counts time_us time_low_us time_high_us min_us max_us visits visits_counted trials "
        "sm_clock_mhz memory_clock_mhz power_w temperature_c stop disturbed disturbed_by unusable").split(),
    "pieces": (
        "run_uuid host date kind series case_name device direction layout other_layout async target device_uuid device_name "
        "simulated pieces piece_bytes way lane value low high unit counts time_us time_low_us time_high_us min_us max_us "
        "visits visits_counted trials sm_clock_mhz memory_clock_mhz power_w temperature_c stop disturbed disturbed_by "
        "unusable").split(),
    "records": (
        "run_uuid host date kind series case_name device process activity name source target device_uuid device_name "
        "simulated bytes grid_x grid_y grid_z block_x block_y block_z registers static_shared_bytes dynamic_shared_bytes "
        "lane value low high unit counts time_us time_low_us time_high_us min_us max_us visits visits_counted trials "
        "sm_clock_mhz memory_clock_mhz power_w temperature_c stop disturbed disturbed_by unusable").split(),
    "collectives": (
        "run_uuid host date kind series case_name devices operation type in_place timing processes launch buffers overlap "
        "device_uuid device_name simulated bytes lane value low high unit counts time_us time_low_us time_high_us min_us max_us visits "
        "visits_counted trials sm_clock_mhz memory_clock_mhz power_w temperature_c stop disturbed disturbed_by unusable").split(),
}

# What a table of points leaves out where nobody asks for all columns: how a figure was measured; and what is the same in
# every row of most traces, where it is.
_MEASURED = {"date", "kind", "series", "device_uuid", "counts", "time_low_us", "time_high_us", "min_us", "max_us", "visits_counted", "trials",
             "memory_clock_mhz", "stop", "disturbed_by"}
_STATE = {"sm_clock_mhz", "power_w", "temperature_c"}
TECHNICAL = {"all": _MEASURED | _STATE, "energies": _MEASURED, "soaks": _MEASURED}
SELDOM = {"simulated", "module", "cache", "executor", "access", "source_offset_bytes", "target_offset_bytes", "bind", "host_node",
          "chunk_bytes", "beside", "more_lanes", "one_block_per_sm", "stride", "offset_bytes", "ways", "rung", "m", "n", "k", "panels", "registers",
          "shared_bytes", "operands", "intensity", "cluster", "pages", "ops", "alpha", "beta", "host_columns", "sm", "order", "pool", "gating",
          "issue", "threads", "function", "form", "nodes", "sub_system", "target", "other_layout", "in_place", "processes", "launch", "buffers",
          "overlap", "process", "static_shared_bytes", "dynamic_shared_bytes"}

# Where the name does not say it; `value`, `low` and `high` have theirs in the column `unit`.
UNITS = {"bytes": "B", "bytes_in": "B", "bytes_out": "B", "access_bytes": "B", "kernel_bytes": "B", "offset_bytes": "B", "piece_bytes": "B",
         "intensity": "1/KiB",
         "source_offset_bytes": "B", "target_offset_bytes": "B", "date": "UTC"}
SUFFIXES = {"_us": "us", "_ms": "ms", "_percent": "%", "_mhz": "MHz", "_w": "W", "_c": "degC"}


def unit_of(name):
    """The unit of a column; "1" of a count, "" of a text and of what has its unit in another column."""
    if name in UNITS:
        return UNITS[name]
    for suffix, unit in SUFFIXES.items():
        if name.endswith(suffix):
            return unit
    return "1" if name in COUNTS else ""
