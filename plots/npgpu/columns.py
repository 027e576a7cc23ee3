"""Columns of the tables: which are numbers, and their units. data/TABLES.md says what each means."""

COUNTS = {"series", "lane", "visits", "visits_counted", "trials", "simulated", "async", "bind", "host_node", "source_offset_bytes", "chunk_bytes",
          "target_offset_bytes",
          # axes
          "bytes", "blocks", "threads", "ilp", "access_bytes", "one_block_per_sm", "stride", "offset_bytes", "ways", "rung", "m", "n", "k", "panels",
          "registers", "shared_bytes",
          "bytes_in", "bytes_out", "kernel_bytes", "iterations", "chunks", "streams", "nodes", "size", "sub_system"}
MEASURES = {"value", "low", "high", "time_us", "time_low_us", "time_high_us", "min_us", "max_us", "sm_clock_mhz",
            "memory_clock_mhz", "power_w", "temperature_c", "number", "reference"}

RUN = ["run_uuid", "host", "date"]
FACTS = [*RUN, "place", "fact", "text", "number"]
PARAMETERS = [*RUN, "device", "device_name", "simulated", "name", "value", "low", "high", "unit", "method", "meaning",
              "reference", "reference_source", "verdict", "note"]

# Where the name does not say it; `value`, `low` and `high` have theirs in the column `unit`.
UNITS = {"bytes": "B", "bytes_in": "B", "bytes_out": "B", "access_bytes": "B", "kernel_bytes": "B", "offset_bytes": "B",
         "source_offset_bytes": "B", "target_offset_bytes": "B", "date": "UTC"}
SUFFIXES = {"_us": "us", "_mhz": "MHz", "_w": "W", "_c": "degC"}


def unit_of(name):
    """The unit of a column; "1" of a count, "" of a text and of what has its unit in another column."""
    if name in UNITS:
        return UNITS[name]
    for suffix, unit in SUFFIXES.items():
        if name.endswith(suffix):
            return unit
    return "1" if name in COUNTS else ""
