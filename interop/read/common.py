"""What all readers share. plain.py stands before it, and the reader behind it."""
import json
import os
import sys

# What engines print on the standard output goes to the other one: nothing but the answer stands there.
told_to = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

question = json.load(sys.stdin)
s3 = question["s3"]
tools = question["tools"]

SQL_TYPES = {"bool": "BOOLEAN", "int32": "INTEGER", "int64": "BIGINT", "float64": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP WITH TIME ZONE"}


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def condition(f, literal=None, mark='"'):
    """A filter in SQL. literal(kind, value) writes what a dialect writes in its own way, or None."""
    column = mark + f["column"] + mark
    if f["op"] == "null":
        return f"{column} IS NULL"
    value = literal(f["kind"], f["value"]) if literal else None
    if value is None:
        value = quoted(f["value"])
        if f["kind"] != "string":
            value = f"CAST({value} AS {SQL_TYPES.get(f['kind'], f['kind'])})"
    return f"{column} {f['op']} {value}"


def wanted(table, mark='"'):
    """What to select."""
    return ", ".join(mark + name + mark for name, _ in table["columns"]) if table["partial"] else "*"


def answer(version, read):
    """Answers all questions: read gives the rows of a table, and the keys that its filters find."""
    out = []
    for table in question["tables"]:
        try:
            rows, keys = read(table)
            out.append({"rows": [{n: plain(v) for n, v in row.items()} for row in rows], "keys": [[plain(k) for k in found] for found in keys], "error": ""})
        except BaseException as e:  # Rust's panics are no Exception
            out.append({"rows": [], "keys": [], "error": f"{type(e).__name__}: {e}"[:2000]})
    json.dump({"version": version, "tables": out}, told_to)
    told_to.flush()
