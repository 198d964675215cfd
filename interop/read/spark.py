"""Reads with Spark and Delta's own library, on the Java of the PATH."""
import os
import tempfile

import pyspark
import pyspark.sql

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
work = tempfile.TemporaryDirectory()
settings = {
    "spark.jars": ",".join(tools.values()),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.local.dir": work.name,
    "spark.sql.warehouse.dir": work.name,
}
if s3:
    settings |= {
        "spark.hadoop.fs.s3a.endpoint": s3["endpoint"], "spark.hadoop.fs.s3a.access.key": s3["key"], "spark.hadoop.fs.s3a.secret.key": s3["secret"],
        "spark.hadoop.fs.s3a.path.style.access": "true", "spark.hadoop.fs.s3a.endpoint.region": s3["region"],
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    }
builder = pyspark.sql.SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def literal(kind, value):
    if kind == "timestamp":
        return f"TIMESTAMP '{value}'"
    if kind == "string":
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def read(table):
    reader = spark.read.format("delta")
    if table["version"] is not None:
        reader = reader.option("versionAsOf", table["version"])
    frame = reader.load(table["table"].replace("s3://", "s3a://"))
    keys = [[r[0] for r in frame.where(condition(f, literal, "`")).select(table["key"]).collect()] for f in table["filters"]]
    if table["partial"]:
        frame = frame.select([name for name, _ in table["columns"]])
    for name, kind in table["columns"]:
        if kind in ("date", "timestamp"):  # as text: on their way to Python, years before 1582 break
            frame = frame.withColumn(name, frame[name].cast("string"))
    return [row.asDict(recursive=True) for row in frame.collect()], keys


answer(f"{pyspark.__version__}, delta 4.0.1", read)
spark.stop()
