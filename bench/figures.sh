#!/usr/bin/env bash
# The figures of README's status table: binary sizes, memory, promises kept by real processes, build costs.
#
#     bench/figures.sh                    sizes and processes; builds for release
#     bench/figures.sh --with-builds      cold builds in CPU seconds too (takes minutes; needs an empty target folder each)
set -euo pipefail
cd "$(dirname "$0")/.."

megabytes() { stat -c %s "$1" | awk '{ printf "%.1f MB", $1 / 1048576 }'; }

echo "== release binaries"
cargo build --release --locked -p app-operator --no-default-features --target-dir target/without-dev
echo "app-operator without dev: $(megabytes target/without-dev/release/app-operator)   (limit: 20 MB)"
if grep -aq kubewright_apiserver target/without-dev/release/app-operator; then
    echo "it holds the API server, which it must not"
    exit 1
fi
cargo build --release --locked -p kubewright-apiserver -p kubewright-bench
echo "kubewright-apiserver:     $(megabytes target/release/kubewright-apiserver)"

echo "== real processes"
target/release/kubewright-bench processes --operator target/without-dev/release/app-operator

if [ "${1:-}" = "--with-builds" ]; then
    echo "== cold debug builds, CPU seconds (user + system)"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cpu() {
        local before after
        before=$(awk '{ print $16 + $17 }' "/proc/$$/stat")
        "$@" >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
        after=$(awk '{ print $16 + $17 }' "/proc/$$/stat")
        echo $(((after - before) / $(getconf CLK_TCK)))
    }
    cargo fetch --locked
    cargo fetch --manifest-path bench/compile/Cargo.toml
    ours=$(cpu cargo build --locked -p app-operator --target-dir "$work/ours")
    theirs=$(cpu cargo build --manifest-path bench/compile/Cargo.toml --target-dir "$work/theirs")
    bare=$(cpu cargo build --locked -p app-operator --no-default-features --target-dir "$work/bare")
    echo "cargo build -p app-operator, dev included:   $ours s"
    echo "the same without dev:                        $bare s"
    echo "a kube-runtime program with the same kinds:  $theirs s"
    awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "ratio: %.2f   (limit: 1.5)\n", a / b }'
fi
