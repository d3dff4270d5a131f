# Everything a developer does, by name; "make help" lists it. Tools are pinned here and
# installed into .bin/ when a target first needs them; only Go modules are downloaded.

GOLANGCI_LINT      := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BUF                := github.com/bufbuild/buf/cmd/buf@v1.75.0
PROTOC_GEN_GO      := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_GO_GRPC := google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2

GO       ?= go
BIN      := $(CURDIR)/.bin
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
CONFIG   ?= site.hcl
DIR      ?= crawl/$(if $(SEEDS),site,demo)
ROUNDS   ?= $(if $(SEEDS),3,)
WORDS    ?= $(if $(SEEDS),,hq0x)
PKG      ?= ./...
BENCH    ?= .
FUZZTIME ?= 10s
BENCHTIME ?= 1s

# Packages with goroutines or processes of their own, and those that carry their data, are
# tested with the race detector; the rest would only become slower by it.
RACE := /core/internal/(chain|control|cycle|frontier|pluginhost|segment|step/.*|store)$$|/sdk$$|/sdk/(extension/.*|internal/(rpc|wire))$$|/plugins/internal/lib(addr|http)$$
RACE_PKGS  = $(shell $(GO) list ./... | grep -E '$(RACE)')
OTHER_PKGS = $(shell $(GO) list ./... | grep -v -E '$(RACE)')

.DEFAULT_GOAL := help
.PHONY: build run test engines soak bench bench-writers fuzz lint fmt proto proto-check tidy-check clean-tree check clean help

build: ## build bin/crawler, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/crawler ./core/cmd/crawler

run: build ## crawl, index and search: the built-in simulated web, or yours with SEEDS="https://example.org/" [CONFIG=site.hcl ROUNDS=3 WORDS="..."]
ifdef SEEDS
	bin/crawler run --config $(CONFIG) --dir $(DIR) $(foreach s,$(SEEDS),--seeds '$(s)') --rounds $(ROUNDS)
	$(if $(WORDS),bin/crawler search --config $(CONFIG) --dir $(DIR) '$(WORDS)',@echo 'Search it: bin/crawler search --dir $(DIR) "words"')
else
	bin/crawler run --testweb --dir $(DIR)
	bin/crawler search --dir $(DIR) '$(WORDS)'
endif

test: ## run all tests but the long ones
	@test -d .bin/engines/tika/classes || echo 'Skipped: tests with real Solr, OpenSearch, Elasticsearch and Kafka servers and Tika; "make engines" fetches them (needs Java 17 and Maven).'
	@status=0; \
	$(GO) test -race -timeout 40m $(RACE_PKGS) || status=1; \
	$(GO) test -timeout 40m $(OTHER_PKGS) || status=1; \
	exit $$status

engines: ## fetch real engines for the tests (needs Java 17 and Maven): Solr, OpenSearch, Elasticsearch, Kafka, Tika's parsers into .bin/engines
	@set -e; for e in opensearch elasticsearch solr kafka tika; do \
		mvn -q -B -f sdk/testengine/$$e/pom.xml dependency:copy-dependencies -DoutputDirectory=$(BIN)/engines/$$e/lib; \
		javac -nowarn -d $(BIN)/engines/$$e/classes -cp "$(BIN)/engines/$$e/lib/*" sdk/testengine/$$e/*.java; \
	done

soak: ## run the long tests too: power cuts, kills, big crawls, every plugin template [PKG=./...]
	CRAWLER_SOAK=1 CRAWLER_SOAK_CUTS=1000 LIBHTML_ROUNDS=10 PLUGINTOOL_ALL=1 $(GO) test -count 1 -p 1 -timeout 120m $(PKG)

bench: ## run benchmarks [PKG=./... BENCH=regexp]
	$(GO) test -run '^$$' -p 1 -bench '$(BENCH)' -benchmem -timeout 120m $(PKG)

bench-writers: ## measure every index writer with batches of 50 to 4,000 documents, as a table; real servers where "make engines" put them
	@$(GO) test -run '^$$' -p 1 -bench 'BenchmarkWrite$$' -benchtime $(BENCHTIME) -timeout 60m ./plugins/indexer-... | awk '\
		/^pkg:/ { n = split($$2, part, "/"); writer = part[n] } \
		/^BenchmarkWrite\// { split($$1, name, /[\/-]/); for (i = 3; i < NF; i += 2) m[$$(i+1)] = $$i; \
			if (!head++) print "| writer | batch | docs/s | CPU s/1,000 docs | peak MiB |\n|---|---|---|---|---|"; \
			printf "| %s | %d | %.0f | %.3f | %.0f |\n", writer, name[2], m["docs/s"], m["cpu-s/1000docs"], m["peak-MiB"] } \
		/FAIL|panic|SKIP/ { print }'

fuzz: ## run each fuzz test for FUZZTIME [PKG=./... FUZZTIME=10s]
	@set -e; for pkg in $$($(GO) list $(PKG)); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

lint: $(BIN)/golangci-lint ## check style and the import rules
	$(BIN)/golangci-lint run

fmt: $(BIN)/golangci-lint $(BIN)/buf ## format Go and proto files
	$(BIN)/golangci-lint fmt
	cd sdk/proto && $(BIN)/buf format -w

proto: $(BIN)/buf $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc ## regenerate sdk/internal/pb from sdk/proto
	rm -rf sdk/internal/pb
	cd sdk/proto && PATH="$(BIN):$$PATH" $(BIN)/buf generate

proto-check: $(BIN)/buf $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc ## check that proto files are clean and the generated code is theirs
	cd sdk/proto && $(BIN)/buf lint && $(BIN)/buf format -d --exit-code
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; mkdir "$$tmp/proto"; set -e; \
	(cd sdk/proto && PATH="$(BIN):$$PATH" $(BIN)/buf generate -o "$$tmp/proto"); \
	diff -r sdk/internal/pb "$$tmp/internal/pb" || { echo 'sdk/internal/pb is stale: run "make proto" and commit'; exit 1; }
	@tag=$$(git describe --tags --abbrev=0 2>/dev/null) || exit 0; \
	cd sdk/proto && $(BIN)/buf breaking --against "$(CURDIR)/.git#tag=$$tag,subdir=sdk/proto"

tidy-check: ## check that go.mod and go.sum are tidy
	$(GO) mod tidy -diff
	$(GO) mod verify

clean-tree: ## fail if files were changed or made that git does not know
	@test -z "$$(git status --porcelain)" || { git status --short; git --no-pager diff | head -200; echo 'the tree is dirty: commit or ignore these files'; exit 1; }

check: tidy-check lint proto-check test clean-tree ## what CI checks, without the long tests

clean: ## remove what make built and the crawls of "make run"
	rm -rf bin .bin crawl

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# A tool is installed anew when this file, which pins it, is newer.
define tool
$(BIN)/$(1): Makefile
	GOBIN=$(BIN) GOFLAGS= CGO_ENABLED=0 $(GO) install $(2)
	@touch $$@
endef
$(eval $(call tool,golangci-lint,$(GOLANGCI_LINT)))
$(eval $(call tool,buf,$(BUF)))
$(eval $(call tool,protoc-gen-go,$(PROTOC_GEN_GO)))
$(eval $(call tool,protoc-gen-go-grpc,$(PROTOC_GEN_GO_GRPC)))
