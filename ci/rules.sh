#!/usr/bin/env bash
# Rules of the code that neither rustc nor clippy checks. Prints each break with its place.
set -euo pipefail
cd "$(dirname "$0")/.."
broken=0

# say MESSAGE: every line on stdin is a break of the rule.
say() {
    local found
    found=$(cat)
    if [ -n "$found" ]; then
        printf '%s:\n%s\n' "$1" "$found"
        broken=1
    fi
}

sources() { git ls-files -- "$@" | grep -v '^ui-tests/' || true; }

# Modules that may allow unsafe code, each with its reason beside the `allow`.
unsafe_allowed='^testkit/src/pinned/symbols\.rs$'
say 'unsafe code may be allowed only in the modules that ci/rules.sh lists' < <(
    sources '*.rs' | xargs grep -ln 'allow(unsafe_code' 2>/dev/null | grep -Ev "$unsafe_allowed" || true
)

# One seed, one order: an unbiased select! draws its own randomness.
say 'select! must be biased' < <(
    sources 'runtime/src/*.rs' 'apiserver/src/*.rs' 'testkit/src/*.rs' | xargs awk '
        waits && !/biased/ { print FILENAME ":" FNR ": " $0 }
        { waits = /select! *\{[ \t]*$/ }
        /select! *\{ *[^ \t]/ && !/biased/ { print FILENAME ":" FNR ": " $0 }
    '
)

# The server is the independent judge of our client.
say 'apiserver must not depend on the framework' < <(
    grep -nE '^kubewright(-macros|-testkit)?\b' apiserver/Cargo.toml || true
)

# The manager holds the parts together; a part that knew it could not be used, or tested, without it.
say 'nothing in runtime but cli and dev may import the manager' < <(
    sources 'runtime/src/*.rs' | grep -vE '^runtime/src/(manager|cli|dev)/|^runtime/src/(lib|prelude)\.rs$' |
        xargs grep -n 'crate::manager' || true
)

# Every task of a replica starts behind its gate: one that did not would run on in a pause and after a crash. kube's
# client starts a task of its own that only hands requests on to the transport, which stands behind the gate as well.
say 'runtime starts tasks and threads through Env::spawn alone (cli and dev are outside a replica)' < <(
    sources 'runtime/src/*.rs' | grep -vE '^runtime/src/(cli|dev)/|^runtime/src/env\.rs$|/tests\.rs$|_tests\.rs$' |
        xargs awk '
            FNR == 1 { tests = 0 }
            /^#\[cfg\(test\)\]/ { tests = 1 }
            !tests && !/^ *\/\// && /tokio::(task::)?spawn|task::spawn|spawn_(blocking|local)|JoinSet|LocalSet|thread::(spawn|Builder|scope)|Handle::current|runtime::Handle/ {
                print FILENAME ":" FNR ": " $0
            }
        '
)

# What is skipped is forgotten.
say 'no ignored tests and no ignored documentation tests' < <(
    sources '*.rs' | xargs grep -nE '^ *#\[ignore|``` *(rust,)? *ignore' 2>/dev/null || true
)

if [ "$broken" -ne 0 ]; then exit 1; fi
echo "rules hold"
