# Every target works in a clean clone with an empty Go cache. Tools are pinned
# in go.mod and run with `go tool`; nothing is installed outside the cache.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN      := bin/anvilsweep
DEMO     := results/demo
FUZZTIME ?= 20s

.PHONY: help demo build test test-browser vet lint race cover fuzz bench bench-client soak alarms golden clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## run the quickstart sweep on the embedded engine and print its summary
	rm -rf $(DEMO)
	$(BIN) run examples/recipes/quickstart.sweep.hcl --out $(DEMO)

build: ## build bin/anvilsweep
	@mkdir -p bin
	go build -trimpath -o $(BIN) ./cmd/anvilsweep

test: vet lint race cover ## vet, lint, all tests under the race detector, coverage floors

test-browser: ## the report in a real browser (needs Chromium: apt-get install chromium); pictures in .browser/
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "no Chromium in PATH; on Debian: apt-get install chromium"; exit 1; }
	go test -count=1 -tags browser -timeout 10m ./sweep/report

vet:
	go vet ./...
	go vet -tags browser ./sweep/report

lint: ## gofmt, staticcheck, errcheck
	@unformatted=$$(gofmt -l cmd recipe sweep client); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go tool staticcheck ./...
	go tool errcheck -ignoretests -exclude .errcheck ./...

race: ## all tests under the race detector
	go tool gotestsum --format pkgname --format-hide-empty-pkg -- -race -timeout 12m -coverprofile=coverage.out -coverpkg=./recipe/...,./sweep/...,./client/...,./cmd/... ./...

cover: ## print coverage a package; fail below 80 % in recipe, sweep and client
	@awk 'NR > 1 { n[$$1] = $$2; if ($$3 > 0) hit[$$1] = 1 } \
	  END { for (b in n) { p = b; sub(/\/[^\/]*$$/, "", p); all[p] += n[b]; if (b in hit) got[p] += n[b] } \
	    for (p in all) printf "%5.1f %%  %s\n", 100 * got[p] / all[p], p }' coverage.out | sort -k3 \
	  | awk '{ print } $$3 ~ /^anvilsweep\/(recipe|sweep|client)/ && $$1 < 80 { low = low "\nbelow 80 %: " $$3 } \
	    END { if (low) { print low; exit 1 } }'

fuzz: ## run every fuzzer for FUZZTIME (default 20s)
	@for pkg in $$(go list ./...); do \
	  for name in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$name"; go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
	  done; \
	done

bench: ## run every benchmark once, with allocations
	go test -run '^$$' -bench . -benchmem ./...

bench-client: ## measure the client itself against a server of known timing, about two minutes
	@mkdir -p bin
	go build -trimpath -o bin/benchclient ./cmd/benchclient
	bin/benchclient

soak: ## 2,000 cells with faults, killed and resumed ten times, about ten minutes
	ANVILSWEEP_SOAK=2000 go test -count=1 -timeout 60m -run '^TestSoak$$' -v ./cmd/internal/cli

alarms: ## how well compare tells 5 % from noise: 20 pairs of sweeps on the embedded engine, about seven minutes
	ANVILSWEEP_ALARMS=20 go test -count=1 -timeout 60m -run '^TestAlarms$$' -v ./cmd/internal/cli

golden: ## rewrite the golden files from what the code does now
	go run ./cmd/anvilsweep docs > docs/recipe.md.new && mv docs/recipe.md.new docs/recipe.md
	@for pkg in $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u); do go test $$pkg -update; done

clean: ## remove what the other targets made
	rm -rf bin results coverage.out .browser
