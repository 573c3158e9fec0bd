# Everything a user or contributor runs. Each target first installs what it lacks (scripts/setup.sh).

# Where rustup puts cargo, in front of a distribution's older one.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

VENV = $(CURDIR)/.venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo gallery python quick test lint deny audit bench vsb-bars testbed-bars plots install install-vsb install-vsb-files docs pictures release \
    setup setup-python setup-test setup-docs setup-release

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The Python package carries the same command, so that one build does for both.
demo: python ## build, then show who gets the air in two published hot-spots, and what to do about it
	$(VENV)/fairair run scenarios/detti2011-five-stations.toml
	$(VENV)/fairair run scenarios/detti2005-thirty-stations.toml
	$(VENV)/python -m fairair.demo --out out/demo
	@echo "Build a cell of your own in the browser: .venv/bin/fairair lab"

gallery: python ## run the papers' figures and write out/gallery/index.html (GALLERY=--quick: in minutes)
	$(VENV)/python -m fairair.gallery build $(GALLERY)

python: setup-python ## build the Python package into .venv
	cd python && FAIRAIR_COMMIT= VIRTUAL_ENV=$(CURDIR)/.venv $(VENV)/maturin develop --quiet --profile wheel --locked

test: setup-test lint ## check formatting, lints and docs, then run all tests and check licences
	scripts/test.sh

quick: setup-test ## in minutes (half an hour the first time): formatting, lints, unit tests that need no kernel; before each commit
	cargo fmt --all --check || { echo "run: cargo fmt --all"; exit 1; }
	python3 scripts/imports.py
	python3 scripts/lines.py
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo test -p fairair-core -p fairair-sim -p fairair --lib --locked --quiet --no-fail-fast
	cd python && { $(VENV)/ruff format --check . || { echo "run: .venv/bin/ruff format python"; exit 1; }; } && $(VENV)/ruff check .
	@echo "quick: everything passed; make test runs the rest"

testbed-bars: setup-test ## measure the tables of docs/testbed.md anew (root, fifty minutes on an idle machine) into out/testbed-bars
	cargo build --release --locked -p fairair --example testbed_bars
	target/release/examples/testbed_bars out/testbed-bars $(JOBS)

bench: setup ## measure speed, beside ns-2 where it is installed
	cargo bench --locked -p fairair-sim --bench whole --bench parts

vsb-bars: setup-test ## measure the live box against its bars, on testbeds and on a radio of kernel queues (root; an hour)
	cargo build --release --locked -p fairair --bin fairair --example vsb_bars --example vsb_radio
	target/release/examples/vsb_bars
	target/release/examples/vsb_radio takes-hold
	target/release/examples/vsb_radio takes-hold --deaf
	target/release/examples/vsb_radio latency
	target/release/examples/vsb_radio tells

docs: setup setup-docs ## build the documentation site into out/site, with warnings as errors
	cargo build --quiet --locked --profile docs -p fairair --bin fairair
	FAIRAIR=target/docs/fairair NO_MKDOCS_2_WARNING=1 target/docs-venv/bin/mkdocs build
	@echo "out/site/index.html; with search: python3 -m http.server -d out/site, then http://localhost:8000"

plots: ## draw the plots of docs/models.md anew from the committed data (Python with venv)
	@[ -x target/plots-venv/bin/python ] || python3 -m venv target/plots-venv
	@target/plots-venv/bin/pip install --quiet --requirement scripts/plots-requirements.txt
	target/plots-venv/bin/python scripts/plots.py

release: setup-release ## build the packages (deb, wheel, sdist, SBOM, checksums) into dist/ and check them (root for the clean Debian)
	scripts/release.sh

pictures: python ## make the pictures of README.md and docs/lab.md anew (a minute; the lab's need Node and Chromium)
	$(VENV)/python scripts/pictures.py

install: setup ## install the fairair command for this user
	cargo install --locked --path crates/cli

install-vsb: setup ## install fairair and the systemd unit of the live box (as root)
	cargo build --release --locked -p fairair
	$(MAKE) --no-print-directory install-vsb-files

# Apart, so that a test can install what it has built.
BINARY = target/release/fairair
install-vsb-files:
	install -D -m 755 $(BINARY) $(DESTDIR)/usr/local/bin/fairair
	install -D -m 644 packaging/fairair-vsb.service $(DESTDIR)/etc/systemd/system/fairair-vsb.service
	install -d $(DESTDIR)/usr/local/share/man/man1
	umask 022 && $(BINARY) vsb man $(DESTDIR)/usr/local/share/man/man1

audit: setup ## look for known vulnerabilities in dependencies (downloads the advisory database)
	cargo deny --locked check advisories

lint: setup-test
	cargo fmt --all --check
	python3 scripts/imports.py
	python3 scripts/lines.py
	scripts/shellcheck.sh
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

setup-python:
	@scripts/setup.sh python

setup-test:
	@scripts/setup.sh test

setup-docs:
	@scripts/setup.sh docs

setup-release:
	@scripts/setup.sh release
