#!/usr/bin/env bash
# Runs the services of docker-compose.yml in containers and checks what comes
# out: MinIO, the seed, two runs, verify, and the service that repeats runs.
#
# The programs are built outside and the images FROM scratch, so that no registry
# is needed. Where an engine answers, it is used. Else root starts one for this
# test alone, in network and mount namespaces of its own: its bridges, firewall
# rules and mounts vanish with it. Where neither is possible the test says so and
# ends with 69; it never passes without having run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly project=batcher-test files=20 records=1000
export BATCHER_TAG=test BATCHER_INTERVAL=2s MINIO_PORT=${MINIO_PORT:-0}
work=$(mktemp -d)
engine=

say() { printf 'docker-test: %s\n' "$*"; }
fail() { say "FAILED: $*" >&2; exit 1; }
impossible() {
	printf '%s\n' "docker-test: NOT RUN: $1" "hint: $2" >&2
	exit 69
}

# start_engine starts a Docker engine that ends with this script.
start_engine() {
	cat >"$work/engine" <<-ENGINE
		ip link set lo up
		exec dockerd --host "unix://$work/docker.sock" --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/dockerd.pid"
	ENGINE
	unshare --net --mount --fork --kill-child sh "$work/engine" >"$work/engine.log" 2>&1 </dev/null &
	engine=$!
	export DOCKER_HOST="unix://$work/docker.sock"
	for ((i = 0; i < 60; i++)); do
		docker info >"$work/info" 2>&1 && return
		kill -0 "$engine" 2>/dev/null || break
		sleep 0.5
	done
	tail -n 20 "$work/engine.log" >&2
	impossible "dockerd does not start on this machine (its last lines stand above)" "run it where a Docker engine runs"
}

find_engine() {
	command -v docker >/dev/null || impossible "there is no docker command" "install Docker, e.g. apt-get install docker.io docker-compose"
	if docker info >/dev/null 2>&1; then
		say "using the engine that runs here"
		return
	fi
	[[ $(id -u) == 0 ]] || impossible "no Docker engine answers, and only root can start one" "start Docker, or run this as root"
	command -v dockerd >/dev/null || impossible "no Docker engine answers and dockerd is not installed" "apt-get install docker.io docker-compose"
	command -v unshare >/dev/null && command -v ip >/dev/null || impossible "unshare or ip is missing" "apt-get install util-linux iproute2"
	start_engine
	say "started an engine for this test: $(docker version --format '{{.Server.Version}}'), storage $(docker info --format '{{.Driver}}')"
}

find_compose() {
	if docker compose version >/dev/null 2>&1; then
		compose=(docker compose)
	elif command -v docker-compose >/dev/null; then
		compose=(docker-compose)
	else
		impossible "there is neither docker compose nor docker-compose" "apt-get install docker-compose"
	fi
	compose+=(-p "$project" -f docker-compose.yml)
	say "compose: $("${compose[@]}" version --short)"
}

# minio_program prints the path of a static MinIO server: $MINIO, or the one in
# the cache that the Go tests use too, or one that is built now.
minio_program() {
	local folder=${XDG_CACHE_HOME:-$HOME/.cache}/batcher/bin module
	local program=${MINIO:-$folder/minio}
	if ! go version -m "$program" 2>/dev/null | grep -q 'CGO_ENABLED=0'; then
		module=$(grep -o 'github.com/minio/minio@[^ ]*' Dockerfile)
		say "building $module, which takes minutes the first time" >&2
		program=$work/bin/minio
		(cd "$work" && CGO_ENABLED=0 GOFLAGS='' GOBIN=$work/bin go install "$module") >&2
	fi
	echo "$program"
}

build_images() {
	local context=$work/context
	mkdir -p "$context/empty"
	for package in ./cmd/batcher ./localdev/cmd/demo; do
		CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=docker-test" -o "$context/" "$package"
	done
	cp "$(minio_program)" "$context/minio"
	cp docker/pipeline.yaml /etc/ssl/certs/ca-certificates.crt "$context/"
	for target in minio demo batcher; do
		local tag=batcher-$target:$BATCHER_TAG
		docker build -q -f docker/scratch.Dockerfile --target "$target" -t "${tag/batcher-batcher/batcher}" "$context" >"$work/build" 2>&1 ||
			{ cat "$work/build" >&2; fail "build the image $tag"; }
	done
	docker image ls --filter reference='batcher*:test' --format 'docker-test: image {{.Repository}}:{{.Tag}} {{.Size}}'
}

# batcher runs one command of batcher in a container beside the others.
batcher() {
	"${compose[@]}" run -T --rm --no-deps --entrypoint /batcher batcher "$@" -c /etc/batcher/pipeline.yaml </dev/null 2>>"$work/stderr"
}

# expect checks that a JSON line has a member, given as its JSON text.
expect() {
	[[ $1 == *"$2"* ]] || { tail -n 20 "$work/stderr" >&2; fail "$3: want $2 in: $1"; }
}

# await_healthy waits until a service's own health check is content.
await_healthy() {
	local id state=
	id=$("${compose[@]}" ps -q "$1")
	for ((i = 0; i < 120; i++)); do
		state=$(docker inspect --format '{{.State.Health.Status}}' "$id")
		[[ $state == healthy ]] && return
		[[ $state == unhealthy ]] && break
		sleep 1
	done
	"${compose[@]}" logs --tail=20 "$1" >&2
	docker inspect --format '{{range .State.Health.Log}}{{.ExitCode}} {{.Output}}{{end}}' "$id" >&2
	fail "$1 is $state after $i s"
}

cleanup() {
	local code=$?
	trap - EXIT
	set +e
	if [[ -n ${compose:-} ]]; then
		"${compose[@]}" down --volumes --remove-orphans >/dev/null 2>&1 || say "could not take the services down" >&2
	fi
	if [[ -n $engine ]]; then
		kill "$(<"$work/dockerd.pid")" || kill "$engine"
		wait "$engine"
	fi 2>/dev/null
	rm -rf "$work"
	exit "$code"
}
trap cleanup EXIT

find_engine
find_compose
build_images

docker run --rm "batcher:$BATCHER_TAG" version | sed 's/^/docker-test: /'
"${compose[@]}" up -d --no-build minio >/dev/null 2>&1 || fail "minio does not start"
await_healthy minio
say "minio is healthy"

seeded=$("${compose[@]}" run -T --rm seed </dev/null 2>>"$work/stderr") || { cat "$work/stderr" >&2; fail "the seed"; }
say "seeded $seeded"
expect "$seeded" "\"records\":$((files * records))" "the seed"

report=$(batcher run -o json) || { cat "$work/stderr" >&2; fail "the first run: $report"; }
expect "$report" '"outcome":"committed"' "the first run"
expect "$report" "\"rows\":{\"read\":$((files * records)),\"written\":$((files * records))" "the first run"
say "the first run committed $((files * records)) rows of $files objects"

report=$(batcher run -o json) || fail "the second run: $report"
expect "$report" '"outcome":"empty"' "the second run"
say "the second run found nothing to do"

proof=$(batcher verify) || { cat "$work/stderr" >&2; fail "verify: $proof"; }
say "verify: ${proof//$'\n'/; }"

"${compose[@]}" up -d --no-build batcher >/dev/null 2>&1 || fail "the batcher service does not start"
await_healthy batcher
say "the batcher service is healthy"
"${compose[@]}" run -T --rm seed seed http://minio:9000 demo in $((files + 1)) "$records" >/dev/null 2>&1 </dev/null || fail "the second seed"
for ((i = 0; i < 60; i++)); do
	rows=$(batcher files -o json | grep -o '"rows":[0-9]*' | cut -d: -f2 | paste -sd+ - | sed 's/^$/0/')
	(($((rows)) == (files + 1) * records)) && break
	sleep 1
done
(($((rows)) == (files + 1) * records)) || fail "the batcher service has $((rows)) rows in the table, want $(((files + 1) * records))"
say "the batcher service committed the $records rows that came later, by itself"
say "passed"
