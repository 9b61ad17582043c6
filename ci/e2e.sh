#!/usr/bin/env bash
# Starts `app-operator dev` on real sockets and drives it with a stock kubectl.
#
#     ci/e2e.sh [BINARY]        default: target/debug/app-operator
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${1:-target/debug/app-operator}

if ! command -v kubectl >/dev/null; then
    echo "SKIPPED: end to end with kubectl: kubectl is not installed"
    exit 0
fi
[ -x "$binary" ] || { echo "there is no $binary: build it with cargo build -p app-operator"; exit 1; }

work=$(mktemp -d)
export KUBECONFIG="$work/kubeconfig"
pid=
failed=0

finish() {
    if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then kill -9 "$pid" || true; fi
    rm -rf "$work"
}
trap finish EXIT

ok() { printf 'ok      %s\n' "$1"; }
not_ok() {
    printf 'FAILED  %s\n' "$1"
    sed 's/^/        /' "$work/last"
    failed=1
}

# check NAME COMMAND…: the command must succeed.
check() {
    local name=$1
    shift
    if timeout 60 "$@" >"$work/last" 2>&1; then ok "$name"; else not_ok "$name"; fi
}

# shows NAME PATTERN COMMAND…: the command must succeed and print what matches the pattern.
shows() {
    local name=$1 pattern=$2
    shift 2
    if timeout 60 "$@" >"$work/last" 2>&1 && grep -Eq "$pattern" "$work/last"; then ok "$name"; else not_ok "$name"; fi
}

# soon NAME COMMAND…: the command must succeed within 30 s.
soon() {
    local name=$1
    shift
    local _
    for _ in $(seq 150); do
        if timeout 10 "$@" >"$work/last" 2>&1; then ok "$name"; return; fi
        sleep 0.2
    done
    not_ok "$name"
}

now() { date +%s%N; }

started=$(now)
"$binary" dev --apply examples/app-operator/app.yaml --write-kubeconfig "$KUBECONFIG" >"$work/out" 2>"$work/err" &
pid=$!
soon "dev prints how to reach it" grep -q "export KUBECONFIG=$KUBECONFIG" "$work/out"
check "the App becomes ready" kubectl wait --for=condition=Ready app/hello --timeout=50s
echo "        ready $((($(now) - started) / 1000000)) ms after the start"

shows "get apps shows printer columns" 'NAME +IMAGE +DESIRED +READY +STATUS +AGE' kubectl get apps
shows "get apps shows the App" 'hello +nginx:1.29 +2 +2 +Available' kubectl get apps
shows "get deploy,svc,cm -o wide shows the children" 'deployment.apps/hello +2/2' kubectl get deploy,svc,cm -o wide
shows "the pods run" 'Running' kubectl get pods -l app.kubernetes.io/name=hello
shows "describe shows conditions and events" 'Observed Generation' kubectl describe app hello
shows "explain knows the fields" 'The container image' kubectl explain app.spec
shows "get events works" 'REASON' kubectl get events
check "patch" kubectl patch app hello --type=merge -p '{"spec":{"image":"nginx:1.30"}}'
soon "the patch reaches the Deployment" sh -c 'kubectl get deploy hello -o jsonpath={.spec.template.spec.containers[0].image} | grep -q nginx:1.30'
check "apply --server-side" kubectl apply -f examples/app-operator/app.yaml --server-side --force-conflicts
soon "the apply reaches the Deployment" sh -c 'kubectl get deploy hello -o jsonpath={.spec.template.spec.containers[0].image} | grep -q nginx:1.29'
sed 's/name: hello$/name: second/; s/hello.example/second.example/' examples/app-operator/app.yaml >"$work/second.yaml"
check "client-side apply of another App" kubectl apply -f "$work/second.yaml"
check "client-side apply again" kubectl apply -f "$work/second.yaml"
check "the other App becomes ready" kubectl wait --for=condition=Ready app/second --timeout=50s
check "scale" kubectl scale app hello --replicas=3
soon "the Deployment follows" sh -c 'kubectl get deploy hello -o jsonpath={.status.availableReplicas} | grep -qx 3'
check "wait for the new generation" kubectl wait --for=jsonpath='{.status.readyReplicas}'=3 app/hello --timeout=30s

timeout 10 kubectl get app -w >"$work/watched" 2>&1 &
watcher=$!
sleep 1
check "remove the optional child" kubectl patch app hello --type=merge -p '{"spec":{"ingress":null}}'
soon "the Ingress goes" sh -c '! kubectl get ingress hello'
check "the other Ingress stays" kubectl get ingress second
check "delete" kubectl delete app hello --timeout=30s
soon "the children are garbage-collected" sh -c '[ -z "$(kubectl get deploy,rs,pods,svc,cm -l app.kubernetes.io/name=hello -o name)" ]'
shows "the finalizer ran first" 'Drained' kubectl get events.events.k8s.io
check "get -w followed it" grep -q hello "$work/watched"
kill "$watcher" 2>/dev/null || true
wait "$watcher" 2>/dev/null || true

printf 'apiVersion: v1\nkind: Service\nmetadata: {name: taken}\nspec: {ports: [{port: 1}]}\n' >"$work/taken.yaml"
check "somebody's own Service" kubectl create -f "$work/taken.yaml"
version=$(kubectl get svc taken -o jsonpath='{.metadata.resourceVersion}')
sed 's/name: hello$/name: taken/; s/hello.example/taken.example/' examples/app-operator/app.yaml >"$work/app-taken.yaml"
check "an App of the same name" kubectl apply -f "$work/app-taken.yaml"
check "the App says that the name is taken" kubectl wait --for=condition=Applied=false app/taken --timeout=30s
soon "and so does an event" sh -c 'kubectl get events.events.k8s.io | grep -q NameTaken'
shows "the Service is untouched" "^$version\$" kubectl get svc taken -o 'jsonpath={.metadata.resourceVersion}{"\n"}'

shows "the operator may do nothing else" 'no' sh -c \
    'kubectl auth can-i list secrets --as=system:serviceaccount:default:app-operator || true'

asked=$(now)
kill -INT "$pid"
if wait "$pid"; then code=0; else code=$?; fi
took=$((($(now) - asked) / 1000000))
pid=
cp "$work/out" "$work/last"
if [ "$code" -eq 0 ] && [ "$took" -lt 1000 ]; then
    ok "Ctrl-C ends it in order ($took ms)"
else
    not_ok "Ctrl-C ends it in order (code $code, $took ms)"
fi
if [ ! -e "$KUBECONFIG" ]; then ok "its kubeconfig is gone"; else not_ok "its kubeconfig is gone"; fi
cp "$work/err" "$work/last"
if ! grep -q panicked "$work/err"; then ok "nothing panicked"; else not_ok "nothing panicked"; fi

if [ "$failed" -ne 0 ]; then
    echo "what dev printed:"
    sed 's/^/        /' "$work/out" "$work/err" | tail -60
    exit 1
fi
