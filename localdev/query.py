"""Runs the SQL on standard input in DuckDB and prints its rows as JSON. plain.py stands before it."""
import json
import sys

import duckdb

connection = duckdb.connect(":memory:")
connection.execute("SET TimeZone = 'UTC'")
connection.execute("SET enable_progress_bar = false")  # it would stand on stdout
result = connection.execute(sys.stdin.read())
names = [column[0] for column in result.description or []]
rows = [{n: plain(v) for n, v in zip(names, row)} for row in result.fetchall()]
json.dump(rows, sys.stdout)
