"""Prints the rows of a Parquet file of tasks as JSONL, one row a line.

Run by the C++ side as a program of its own: `python parquet.py FILE`. Only the columns that describe
a task are read, so prompts do not cost memory. Exit code 2: this interpreter has no pyarrow.
"""

import json
import os
import sys

EXIT_BAD_FILE = 1
EXIT_NO_PYARROW = 2

# Rows in memory at a time; sources have a few kilobytes.
BATCH_ROWS = 1024

COLUMNS = frozenset(
    "id code source name problem_id level family entry entry_point uuid ground_truth "
    "reward_model.ground_truth extra_info.entry_point extra_info.level extra_info.module_name "
    "extra_info.uuid".split()
)


def task_columns(schema):
    """The leaf columns of a Parquet schema that describe a task."""
    return [path for path in (schema.column(i).path for i in range(len(schema))) if path in COLUMNS]


def print_rows(path, out):
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        columns = task_columns(file.schema)
        if not columns:
            raise ValueError(f"no column describes a task; it has {', '.join(file.schema_arrow.names)}")
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns):
            for row in batch.to_pylist():
                out.write(json.dumps(row, ensure_ascii=False, allow_nan=False))
                out.write("\n")


def main(arguments):
    if len(arguments) != 1:
        print("usage: parquet.py FILE", file=sys.stderr)
        return EXIT_BAD_FILE
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        print(
            f"Parquet needs pyarrow, which {sys.executable} cannot import ({error}); "
            f"install it with: {sys.executable} -m pip install pyarrow",
            file=sys.stderr,
        )
        return EXIT_NO_PYARROW
    try:
        print_rows(arguments[0], sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(EXIT_BAD_FILE)
    except Exception as error:  # whatever pyarrow raises for a damaged file: told in one line
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return EXIT_BAD_FILE
    return 0


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    sys.exit(main(sys.argv[1:]))
