"""Reads with DuckDB: its delta_scan, or its read_parquet of the files of a table."""
import pathlib

import duckdb
import duckdb_extension_delta
import duckdb_extension_httpfs

connection = duckdb.connect(":memory:")
connection.execute("SET enable_progress_bar = false")  # it would stand on stdout
for package in (duckdb_extension_delta, duckdb_extension_httpfs):
    name = package.__name__.removeprefix("duckdb_extension_")
    file = next(pathlib.Path(package.__file__).parent.glob(f"extensions/*/{name}.duckdb_extension"))
    connection.execute(f"LOAD '{file}'")
connection.execute("SET TimeZone = 'UTC'")
if s3:
    host = s3["endpoint"].removeprefix("http://")
    connection.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID '{s3['key']}', SECRET '{s3['secret']}', REGION '{s3['region']}', ENDPOINT '{host}', URL_STYLE 'path', USE_SSL false)"
    )


def rows(sql):
    result = connection.execute(sql)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row)) for row in result.fetchall()]


def source(table):
    if not question["delta"]:
        return f"read_parquet([{', '.join(map(quoted, table['files']))}], union_by_name = true)"
    version = "" if table["version"] is None else f", version => {table['version']}"
    return f"delta_scan('{table['table']}'{version})"


def read(table):
    connection.execute(f"CREATE OR REPLACE VIEW t AS SELECT * FROM {source(table)}")
    keys = [[r["k"] for r in rows(f"SELECT {table['key']} AS k FROM t WHERE {condition(f)}")] for f in table["filters"]]
    return rows(f"SELECT {wanted(table)} FROM t"), keys


answer(duckdb.__version__, read)
