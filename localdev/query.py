"""Runs the SQL on standard input in DuckDB and prints its rows as JSON. plain.py stands before it.
The arguments are extensions, from packages of their own, that INSTALL finds installed."""
import importlib.util
import json
import pathlib
import sys

import duckdb

connection = duckdb.connect(":memory:")
connection.execute("SET enable_progress_bar = false")  # it would stand on stdout
connection.execute("SET TimeZone = 'UTC'")
if sys.argv[1:]:
    home = pathlib.Path(sys.prefix) / "extensions"
    platform = connection.execute("PRAGMA platform").fetchone()[0]
    folder = home / f"v{duckdb.__version__}" / platform
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:]:
        package = pathlib.Path(importlib.util.find_spec(f"duckdb_extension_{name}").origin).parent
        link = folder / f"{name}.duckdb_extension"
        try:
            link.symlink_to(next(package.glob(f"extensions/*/{link.name}")))
        except FileExistsError:
            pass  # by an earlier question, or by one at the same time
    connection.execute(f"SET extension_directory = '{home}'")
result = connection.execute(sys.stdin.read())
names = [column[0] for column in result.description or []]
rows = [{n: plain(v) for n, v in zip(names, row)} for row in result.fetchall()]
json.dump(rows, sys.stdout)
