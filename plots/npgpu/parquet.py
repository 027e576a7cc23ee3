"""python -m npgpu.parquet TRACE... -o DIR: the tables of traces as Parquet, for DuckDB, Polars and others."""
import argparse
import io
import json
import os
import sys

from npgpu import output
from npgpu.columns import unit_of
from npgpu.program import BadTrace


def with_units(table):
    """An Arrow table whose columns have their units in their metadata."""
    import pyarrow as pa
    made = pa.Table.from_pandas(table, preserve_index=False)
    units = {name: unit_of(name) for name in made.column_names}
    fields = [made.schema.field(name).with_metadata({"unit": units[name]}) for name in made.column_names]
    return made.cast(pa.schema(fields, metadata={**made.schema.metadata, "npgpu.units": json.dumps(units)}))


def write(frames, folder):
    """{name: data frame} as FOLDER/name.parquet each, compressed by zstd. Returns their paths."""
    try:
        import pyarrow.parquet
    except ImportError as missing:
        raise BadTrace(f"Parquet is written with pyarrow (pip install pyarrow): {missing}") from None
    os.makedirs(folder, exist_ok=True)
    paths = []
    for name, table in frames.items():
        paths.append(os.path.join(folder, f"{name}.parquet"))
        written = io.BytesIO()
        pyarrow.parquet.write_table(with_units(table), written, compression="zstd")
        output.write(paths[-1], written.getvalue())
    return paths


def main():
    parser = argparse.ArgumentParser(prog="python3 -m npgpu.parquet", description="Writes the tables of traces as Parquet: a file a table, "
                                     "DIR/transfers.parquet and so on, with units in the columns' metadata.")
    parser.add_argument("trace", nargs="+", help="npgpu trace (.h5), a folder or a pattern of them")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder of the tables; files there are replaced")
    args = parser.parse_args()
    try:
        from npgpu.tables import load
        for path in load(args.trace).to_parquet(args.output):
            print(path)
    except ImportError as missing:
        sys.exit(f"npgpu.parquet: {missing}; tables need pandas, h5py and pyarrow (pip install pandas h5py pyarrow)")
    except (BadTrace, OSError) as error:
        print(f"npgpu.parquet: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
