#!/usr/bin/env bash
# What a controller costs `cargo check`: by the attribute, and by the builder's calls written out.
#
# Prints the mean over 200 controllers of one crate, in milliseconds of CPU time of rustc, median of five runs; ends with
# status 1 where the attribute costs more than 15 ms or more than twice the builder.
set -euo pipefail
cd "$(dirname "$0")/.."
count=200 runs=5
work=target/check-time
mkdir -p "$work"
rm -f "$work"/*.ms

# controllers HEAD: the crate with $count controllers, each the text of HEAD with its number for `%`.
controllers() {
    printf 'use kubewright::prelude::*;\nuse kubewright::{Declaration, Declare, Finalized, Owns};\n'
    local i
    for ((i = 0; i < count; i++)); do
        printf '%s\n' "${1//%/$i}"
        printf 'impl Reconciler for C%d {\n    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<Self>) -> Result<Action> { Ok(Action::await_change()) }\n}\n' "$i"
        printf 'impl Cleanup for C%d {\n    async fn cleanup(&self, _: Arc<ConfigMap>, _: &Context<Self>) -> Result<Action> { Ok(Action::await_change()) }\n}\n' "$i"
    done
}

# source_of NAME: keeps what stands on stdin as a crate.
source_of() { { echo '#![allow(unused)]'; cat; } > "$work/$1.rs"; }

source_of empty < /dev/null
controllers '#[controller(for = ConfigMap, owns = [Deployment, Service, Secret, Ingress], workers = 4, finalizer = "demo.dev/drain")]
struct C%;' | source_of attribute
controllers 'struct C%;
impl Declare for C% {
    type Primary = ConfigMap;
    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<ConfigMap>().owns::<Deployment>().owns::<Service>().owns::<Secret>().owns::<Ingress>().workers(4).finalizer("demo.dev/drain")
    }
}
impl Owns<Deployment> for C% {}
impl Owns<Service> for C% {}
impl Owns<Secret> for C% {}
impl Owns<Ingress> for C% {}
impl Finalized for C% {}' | source_of by-hand

# What the crates of this workspace are checked against.
kubewright=$(cargo check --quiet -p kubewright-ui-tests --message-format=json |
    grep -o '"[^"]*/libkubewright-[0-9a-f]*\.rmeta"' | tr -d '"' | tail -1)

# cpu NAME: milliseconds of CPU time of one check of a crate.
cpu() {
    local TIMEFORMAT='%U %S'
    { time rustc --edition 2024 --crate-type lib --crate-name checked --emit=metadata -o "$work/$1.rmeta" \
        -L "dependency=$(dirname "$kubewright")" --extern "kubewright=$kubewright" "$work/$1.rs"; } 2>&1 |
        awk '{ print int(($1 + $2) * 1000) }'
}

# The three by turns, so that what else the machine does hits all alike.
for ((run = 0; run < runs; run++)); do
    for crate in empty attribute by-hand; do cpu "$crate" >> "$work/$crate.ms"; done
done

# middle NAME: the median of its runs.
middle() { sort -n "$work/$1.ms" | sed -n "$((runs / 2 + 1))p"; }

empty=$(middle empty) attribute=$(middle attribute) by_hand=$(middle by-hand)
awk -v e="$empty" -v a="$attribute" -v h="$by_hand" -v n="$count" 'BEGIN {
    a = (a - e) / n; h = (h - e) / n
    printf "attribute  %.1f ms per controller (limit 15)\nbuilder    %.1f ms per controller\nratio      %.2f (limit 2)\n", a, h, a / h
    exit !(a <= 15 && a <= 2 * h)
}'
