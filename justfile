# The steps of .ci/run, one by one. `just` alone lists them.

default:
    @just --list

# Everything that must hold before a change lands
ci:
    .ci/run

# Rules that no compiler checks
rules:
    ci/rules.sh

fmt:
    cargo fmt --all

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

test *filter:
    cargo test --workspace {{filter}}

# The example operator against its own API server
dev:
    cargo run -p app-operator -- dev --apply examples/app-operator/app.yaml

# dev on real sockets, driven by kubectl
e2e:
    cargo build -p app-operator
    ci/e2e.sh

# Sizes, memory and CPU seconds of the README's status table
figures:
    bench/figures.sh
