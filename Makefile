# Everything a user or contributor runs. Each target first installs what it lacks (scripts/setup.sh).

# Where rustup puts cargo, in front of a distribution's older one.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

FAIRAIR = cargo run --release --locked --quiet -p fairair --

.DEFAULT_GOAL := help
.PHONY: help demo test lint deny audit bench install install-vsb setup setup-test

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup ## build, then show who gets the air in two published hot-spots
	cargo build --release --locked -p fairair
	$(FAIRAIR) run scenarios/detti2011-five-stations.toml
	$(FAIRAIR) run scenarios/detti2005-thirty-stations.toml

test: setup-test lint deny ## check formatting, lints, docs and licences, then run all tests
	scripts/test.sh

bench: setup ## measure speed, beside ns-2 where it is installed
	cargo bench --locked -p fairair-sim --bench whole --bench parts

install: setup ## install the fairair command for this user
	cargo install --locked --path crates/cli

install-vsb: setup ## install fairair and the systemd unit of the live box (as root)
	cargo build --release --locked -p fairair
	install -D -m 755 target/release/fairair $(DESTDIR)/usr/local/bin/fairair
	install -D -m 644 packaging/fairair-vsb.service $(DESTDIR)/etc/systemd/system/fairair-vsb.service
	install -d $(DESTDIR)/usr/local/share/man/man1
	target/release/fairair vsb man $(DESTDIR)/usr/local/share/man/man1

audit: setup ## look for known vulnerabilities in dependencies (downloads the advisory database)
	cargo deny --locked check advisories

lint: setup-test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# cargo-deny takes two minutes to build: CI spends them once, a contributor need not.
deny: setup-test
	@if ! cargo deny --version >/dev/null 2>&1 && [ -n "$$CI" ]; then \
		echo "cargo install cargo-deny"; \
		cargo install --quiet --locked --debug --version 0.20.2 cargo-deny; \
	fi
	@if cargo deny --version >/dev/null 2>&1; then \
		cargo deny --locked check licenses bans sources; \
	elif [ -n "$$CI" ]; then \
		echo "CI needs cargo-deny" >&2; exit 1; \
	else \
		echo "*** SKIPPED (needs cargo-deny): licences and sources of dependencies. cargo install --locked cargo-deny ***"; \
	fi

setup:
	@scripts/setup.sh

setup-test:
	@scripts/setup.sh test
