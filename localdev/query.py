"""Runs the SQL on standard input in DuckDB and prints its rows as JSON."""
import datetime
import json
import math
import sys

import duckdb


def plain(value):
    """Turns a value into what JSON can carry without loss."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat() + "Z"
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)  # decimals, intervals, UUIDs


connection = duckdb.connect(":memory:")
connection.execute("SET TimeZone = 'UTC'")
connection.execute("SET enable_progress_bar = false")  # it would stand on stdout
result = connection.execute(sys.stdin.read())
names = [column[0] for column in result.description or []]
rows = [{n: plain(v) for n, v in zip(names, row)} for row in result.fetchall()]
json.dump(rows, sys.stdout)
