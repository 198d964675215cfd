"""Answers a question about a Delta table with one of two readers, as JSON, or has one of them change it. plain.py stands before it."""
import json
import pathlib
import sys

question = json.load(sys.stdin)


def ask_duckdb():
    import duckdb
    import duckdb_extension_delta

    connection = duckdb.connect(":memory:")
    connection.execute("SET enable_progress_bar = false")  # it would stand on stdout
    folder = pathlib.Path(duckdb_extension_delta.__file__).parent
    extension = next(folder.glob("extensions/*/delta.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")
    version = "" if question["version"] is None else f", version => {question['version']}"
    connection.execute(f"CREATE VIEW t AS SELECT * FROM delta_scan('{question['table']}'{version})")
    answers = []
    for sql in question["sql"] or []:
        result = connection.execute(sql)
        names = [column[0] for column in result.description]
        answers.append([{n: plain(v) for n, v in zip(names, row)} for row in result.fetchall()])
    return {"Version": -1, "Partitions": [], "Rows": answers}


def ask_delta_rs():
    from deltalake import DeltaTable, QueryBuilder

    table = DeltaTable(question["table"], version=question["version"])
    answers = []
    for sql in question["sql"] or []:
        result = QueryBuilder().register("t", table).execute(sql).read_all()
        answers.append([plain(row) for row in result.to_struct_array().to_pylist()])
    return {"Version": table.version(), "Partitions": table.metadata().partition_columns, "Rows": answers}


def write():
    """Makes three commits: files merged, a row deleted, rows appended. sql[0] says which row."""
    from deltalake import DeltaTable, QueryBuilder, write_deltalake

    table = DeltaTable(question["table"])
    table.optimize.compact()
    table.delete(question["sql"][0])
    rows = QueryBuilder().register("t", table).execute("SELECT * FROM t LIMIT 2").read_all()
    write_deltalake(table, rows, mode="append")
    return {"Version": DeltaTable(question["table"]).version(), "Partitions": [], "Rows": []}


def vacuum():
    """Deletes what delta-rs takes for garbage. sql[0] has the arguments."""
    from deltalake import DeltaTable

    deleted = DeltaTable(question["table"]).vacuum(dry_run=False, **json.loads(question["sql"][0]))
    return {"Version": DeltaTable(question["table"]).version(), "Deleted": deleted}


json.dump({"write": write, "vacuum": vacuum, "duckdb": ask_duckdb, "delta-rs": ask_delta_rs}[sys.argv[1]](), sys.stdout)
