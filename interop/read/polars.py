"""Reads with Polars."""
import datetime
import decimal

import polars

options = None
if s3:
    options = {"AWS_ENDPOINT_URL": s3["endpoint"], "AWS_ACCESS_KEY_ID": s3["key"], "AWS_SECRET_ACCESS_KEY": s3["secret"], "AWS_REGION": s3["region"], "AWS_ALLOW_HTTP": "true"}
OPERATORS = {"=": "eq", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
PARSERS = {
    "bool": lambda text: text == "true", "string": str, "int32": int, "int64": int, "float64": float,
    "date": datetime.date.fromisoformat, "timestamp": datetime.datetime.fromisoformat,
}


def expression(f, schema):
    column = polars.col(f["column"])
    if f["op"] == "null":
        return column.is_null()
    value = PARSERS.get(f["kind"], decimal.Decimal)(f["value"])
    return getattr(column, OPERATORS[f["op"]])(polars.lit(value, dtype=schema[f["column"]]))


def read(table):
    frame = polars.scan_delta(table["table"], version=table["version"], storage_options=options)
    schema = frame.collect_schema()
    keys = [frame.filter(expression(f, schema)).select(table["key"]).collect().to_series().to_list() for f in table["filters"]]
    if table["partial"]:
        frame = frame.select([name for name, _ in table["columns"]])
    return frame.collect().to_dicts(), keys


answer(polars.__version__, read)
