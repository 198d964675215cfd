# Targets for people and for .ci/run; `make help` lists them. Plain POSIX make.
# Needs Go and git; tools and servers that a target needs besides are built by it
# into the user's cache, never into the tree.

.POSIX:
.SUFFIXES:
.PHONY: help build test prove nightly race check lint vuln lambda docker-test bench bench-compact bench-growth microbench chaos interop stores clean

GO = go
# A bound for what hangs, not for what is slow: tests have a budget of work, not of time.
TEST_TIMEOUT = 2h
# Packages given to test, race and bench.
PACKAGES = ./...
LINT = $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# A release is named by its tag, everything else by the commit.
VERSION = $$(git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS = -s -w -X main.version=$(VERSION)
STATIC = CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

build: ## build the static binary bin/batcher
	$(STATIC) -ldflags "$(LDFLAGS)" -o bin/batcher ./cmd/batcher

# RUN_TESTS prints the figures that tests noted after them.
RUN_TESTS = figures=$$(mktemp) || exit 1; \
	trap 'rm -f "$$figures"' EXIT; \
	code=0; \
	BATCHER_FIGURES="$$figures" $(GO) test -timeout $(TEST_TIMEOUT) $$tests || code=$$?; \
	if [ -s "$$figures" ]; then echo; echo "Figures"; sort "$$figures" | sed 's/^/  /'; fi; \
	exit $$code

# Tests read sample files below BATCHER_SAMPLES, if it is set.
test: ## run all tests, those that explore on a sample, then print the figures that they noted
	@tests="$(PACKAGES)"; $(RUN_TESTS)

# The packages of which tests ask localdev.Proving.
PROVEN = ./sim/... ./specs ./pipeline ./dlq ./compact ./table/delta ./localdev/...
prove: ## run the tests that explore to their end: interleavings, crash points, simulations, mutants, chaos
	@export BATCHER_PROVE=1; tests="$(PROVEN)"; $(RUN_TESTS)

# Keeps every state in memory, about 2 GB.
nightly: ## explore interleavings with more faults, simulate for BATCHER_SIM_TIME (3h)
	BATCHER_NIGHTLY=1 GOGC=40 $(GO) test -count=1 -v -timeout 4h -run '^TestExplore$$' ./sim
	BATCHER_NIGHTLY=1 $(GO) test -count=1 -v -timeout 48h -run '^TestSimulation$$' ./pipeline
	BATCHER_NIGHTLY=1 $(GO) test -count=1 -v -timeout 4h -run '^TestAnythingBesideAnything' ./dlq

race: ## run all tests with the race detector
	$(GO) test -race -timeout 40m $(PACKAGES)

check: lint ## everything to do before a push
	@echo "house rules"; $(GO) test -count=1 .
	@echo "race detector, packages that need no server"; \
	$(GO) test -race -timeout $(TEST_TIMEOUT) $$($(GO) list ./... | grep -v -E '/(s3store|localdev|interop|bench|cmd/batcher)(/|$$)')

lint: ## gofmt, go vet and golangci-lint
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l) || exit 1; \
	if [ -n "$$files" ]; then echo "not formatted (gofmt -w):"; echo "$$files"; exit 1; fi
	$(GO) vet ./...
	$(LINT) run ./...

# Needs the database at vuln.go.dev.
vuln: ## look for known vulnerabilities in what the program calls
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

lambda: ## pack dist/batcher-lambda-{arm64,amd64}.zip for provided.al2023
	@mkdir -p dist
	@set -e; for arch in arm64 amd64; do \
		GOOS=linux GOARCH=$$arch $(STATIC) -tags lambda.norpc -ldflags "$(LDFLAGS)" -o dist/lambda-$$arch ./cmd/batcher; \
		$(GO) run ./lambda/cmd/zip dist/batcher-lambda-$$arch.zip dist/lambda-$$arch; \
		rm dist/lambda-$$arch; \
		ls -l dist/batcher-lambda-$$arch.zip; \
	done

docker-test: ## run the compose file's services in containers and check the result
	docker/test.sh

# Wants python3 with venv, and a machine that does nothing else. With BATCHER_SAMPLES
# set, real events are measured as well. PAIRS=5 takes about ten minutes.
PAIRS = 7
bench: ## compare whole runs with DuckDB and Polars: PAIRS=5; writes docs/PERFORMANCE.md
	$(GO) run ./bench/cmd/compare -pairs $(PAIRS) -doc docs/PERFORMANCE.md -plot docs/performance.svg

# Everything is in memory, about 13 GB at 100,000 batches; takes half an hour or more.
bench-growth: ## measure what a run costs after 10 to 100,000 batches; writes docs/PERFORMANCE.md
	$(GO) run ./bench/cmd/growth -doc docs/PERFORMANCE.md -plot docs/growth.svg

bench-compact: ## compare merging 1,000 files of 1 MB with deltalake; needs 15 GB for a while; writes docs/PERFORMANCE.md
	$(GO) run ./bench/cmd/compare compact -doc docs/PERFORMANCE.md

microbench: ## run the benchmarks of single packages
	$(GO) test -run '^$$' -bench . -timeout 60m $(PACKAGES)

# The seed of a run is printed; SEED=n draws from it again, at the mercy of the clock.
KILLS = 100
STORE = minio
SEED = 0
chaos: ## torture processes on a real store and prove: KILLS=1000 STORE=minio or versitygw
	$(GO) run ./localdev/cmd/chaos -kills $(KILLS) -store $(STORE) -seed $(SEED)

# Needs python3 with venv, mvn, and a Java of 17 or later on the PATH; fetches 2 GB once.
interop: ## have all engines read what batcher published; writes docs/READERS.md
	$(GO) run ./interop/cmd/readers -doc docs/READERS.md

# Needs python3 with venv, mvn, and a Java of 17 or later on the PATH.
ROUNDS = 20
ONLY =
stores: ## examine S3 stores and begin a pipeline on each: ROUNDS=20 ONLY=name; a full run writes docs/STORES.md
	$(GO) run ./localdev/cmd/stores -rounds $(ROUNDS) -only "$(ONLY)" -doc docs/STORES.md

clean: ## remove what the targets built
	rm -rf bin dist
