"""Reads with pyarrow, which has the files and the statistics from delta-rs."""
import datetime
import decimal

import pyarrow
import pyarrow.compute
import pyarrow.dataset
from deltalake import DeltaTable

options = None
if s3:
    options = {"AWS_ENDPOINT_URL": s3["endpoint"], "AWS_ACCESS_KEY_ID": s3["key"], "AWS_SECRET_ACCESS_KEY": s3["secret"], "AWS_REGION": s3["region"], "AWS_ALLOW_HTTP": "true"}
OPERATORS = {"=": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
PARSERS = {
    "bool": lambda text: text == "true", "string": str, "int32": int, "int64": int, "float64": float,
    "date": datetime.date.fromisoformat, "timestamp": datetime.datetime.fromisoformat,
}


def expression(f, schema):
    column = pyarrow.compute.field(f["column"])
    if f["op"] == "null":
        return column.is_null()
    value = PARSERS.get(f["kind"], decimal.Decimal)(f["value"])
    return getattr(column, OPERATORS[f["op"]])(pyarrow.scalar(value, type=schema.field(f["column"]).type))


def read(table):
    data = DeltaTable(table["table"], version=table["version"], storage_options=options).to_pyarrow_dataset()
    keys = [data.to_table(columns=[table["key"]], filter=expression(f, data.schema)).column(0).to_pylist() for f in table["filters"]]
    columns = [name for name, _ in table["columns"]] if table["partial"] else None
    return data.to_table(columns=columns).to_pylist(), keys


answer(pyarrow.__version__, read)
