#!/usr/bin/env bash
# Runs batcher and DuckDB in turn over the same file of events, and prints the
# median of seconds and of peak memory of each, and the ratio pair by pair.
#
#     bench/duckdb.sh [RECORDS] [PAIRS]
#
# batcher does its whole job (ids, plan, Parquet with zstd, manifest, fsync);
# DuckDB converts NDJSON to Parquet with zstd. Both may use every core.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
records=${1:-1500000} pairs=${2:-7}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/batcher/bench
python=$cache/venv/bin/python
if [[ ! -x $python ]]; then
	mkdir -p "$cache"
	python3 -m venv "$cache/venv"
	"$cache/venv/bin/pip" -q install duckdb==1.5.5
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -trimpath -o "$work/batcher" ./cmd/batcher
go run ./localdev/cmd/events "$work/in" 1 "$records" >/dev/null
printf 'pipeline: bench\nstore: ./lake\nsource: {files: {path: ./in, settle: 0s}}\n' >"$work/pipeline.yaml"
exec "$python" - "$work" "$pairs" <<'PY'
import glob, os, resource, statistics, subprocess, sys, shutil, time
work, pairs = sys.argv[1], int(sys.argv[2])
source = glob.glob(work + "/in/*.ndjson")[0]
copy = f"import duckdb; duckdb.sql(\"COPY (SELECT * FROM read_json_auto('{source}', format='newline_delimited')) TO '{work}/duck.parquet' (FORMAT parquet, COMPRESSION zstd)\")"
def once(command):
    began = time.monotonic()
    child = subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, command
    return time.monotonic() - began, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime
rows = []
for i in range(pairs + 1):
    shutil.rmtree(work + "/lake", ignore_errors=True)
    b = once([work + "/batcher", "run", "-q"])
    d = once([sys.executable, "-c", copy])
    if i: rows.append((b, d))
size = os.path.getsize(source)
files = sum(os.path.getsize(f) for f in glob.glob(work + "/lake/bench/data/*/*/*.parquet"))
m = statistics.median
print(f"input {size/1e6:.0f} MB, {pairs} pairs, {os.cpu_count()} cores")
for name, k in (("batcher", 0), ("DuckDB 1.5.5", 1)):
    print(f"{name:13} {m(r[k][0] for r in rows):.2f} s  {m(r[k][2] for r in rows):.2f} s of CPU  {m(r[k][1] for r in rows):.0f} MiB")
print(f"DuckDB / batcher, median of pairs: time {m(r[1][0]/r[0][0] for r in rows):.2f}, CPU {m(r[1][2]/r[0][2] for r in rows):.2f}, memory {m(r[1][1]/r[0][1] for r in rows):.2f}")
print(f"batcher's file / DuckDB's: {files/os.path.getsize(work + '/duck.parquet'):.2f} (batcher's also holds _source and _offset)")
PY
