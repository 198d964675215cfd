"""Reads with ClickHouse, as a library."""
import os

import chdb
from chdb import session

os.chdir("/")  # the library reads files below the folder in which it started
connection = session.Session()
SETTINGS = "SETTINGS output_format_json_quote_64bit_integers = 0, output_format_json_quote_decimals = 1, output_format_json_quote_denormals = 1, date_time_output_format = 'iso', session_timezone = 'UTC'"


def rows(sql, settings=""):
    text = str(connection.query(f"{sql} {SETTINGS}{settings}", "JSONEachRow"))
    return [json.loads(line, parse_int=whole) for line in text.splitlines()]


def whole(text):
    return -0.0 if text == "-0" else int(text)


def literal(kind, value):
    if kind == "timestamp":
        return f"toDateTime64('{value[:-1].replace('T', ' ')}', 6, 'UTC')"
    if kind == "date":
        return f"toDate32('{value}')"
    if kind == "string":
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def read(table):
    if s3:
        path = s3["endpoint"] + "/" + table["table"].removeprefix("s3://")
        source = f"deltaLake('{path}', '{s3['key']}', '{s3['secret']}')"
    else:
        source = f"deltaLakeLocal('{table['table']}')"
    settings = "" if table["version"] is None else f", delta_lake_snapshot_version = {table['version']}"
    blobs = [f'hex("{name}") AS "{name}"' for name, kind in table["columns"] if kind == "bytes"]
    what = "*" + (f" REPLACE ({', '.join(blobs)})" if blobs else "")
    if table["partial"]:
        what = ", ".join(f'hex("{n}") AS "{n}"' if kind == "bytes" else f'"{n}"' for n, kind in table["columns"])
    keys = [[r["k"] for r in rows(f"SELECT {table['key']} AS k FROM {source} WHERE {condition(f, literal)}", settings)] for f in table["filters"]]
    found = rows(f"SELECT {what} FROM {source}", settings)
    for row in found:
        for name, kind in table["columns"]:
            if kind == "bytes" and row[name] is not None:
                row[name] = row[name].lower()
    return found, keys


answer(chdb.engine_version, read)
