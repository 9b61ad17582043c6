// The controller that the suite `engine` measures, by controller-runtime: what bench/src/engine/ours.rs does.
//
// It is spoken to over its standard input and output, as bench/src/engine/worker.rs says.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// The annotation that an event changes.
const sent = "bench.dev/sent"

var owner = client.FieldOwner("go")

// What the process keeps of its reconciles.
type ledger struct {
	what       string
	count      int
	reconciles atomic.Int64
	mutex      sync.Mutex
	turns      map[string]int
	twice      int
	left       int
	latencies  []int64
}

func (l *ledger) writes() bool {
	return l.what == "converge" || l.what == "turns"
}

func (l *ledger) begins(note *Note) {
	l.reconciles.Add(1)
	switch l.what {
	case "turns":
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.turns[note.Name]++
		if l.turns[note.Name] == 2 {
			l.twice++
			if l.twice == l.count/2 {
				l.left = l.count - len(l.turns)
			}
		}
	case "latency":
		at, err := strconv.ParseInt(note.Annotations[sent], 10, 64)
		if err != nil {
			return
		}
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.latencies = append(l.latencies, time.Now().UnixNano()-at)
	}
}

// The 99th percentile of the latencies since the last call, in microseconds.
func (l *ledger) slowest() float64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.latencies) == 0 {
		return 0
	}
	slices.Sort(l.latencies)
	at := (len(l.latencies)*99+99)/100 - 1
	slowest := float64(l.latencies[at]) / 1e3
	l.latencies = nil
	return slowest
}

type reconciler struct {
	client client.Client
	scheme *runtime.Scheme
	ledger *ledger
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var note Note
	if err := r.client.Get(ctx, request.NamespacedName, &note); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.ledger.begins(&note)
	if !r.ledger.writes() {
		return ctrl.Result{}, nil
	}
	configMap := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      note.Name,
			Namespace: note.Namespace,
			Labels:    map[string]string{"app.kubernetes.io/name": "note"},
		},
		Data: map[string]string{"text": note.Spec.Text, "more": strings.Join(note.Spec.More, "\n")},
	}
	if err := ctrl.SetControllerReference(&note, configMap, r.scheme); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.client.Patch(ctx, configMap, client.Apply, owner, client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	status := &Note{
		TypeMeta:   metav1.TypeMeta{APIVersion: group.String(), Kind: "Note"},
		ObjectMeta: metav1.ObjectMeta{Name: note.Name, Namespace: note.Namespace},
		Status:     &NoteStatus{Length: len(note.Spec.Text)},
	}
	return ctrl.Result{}, r.client.Status().Patch(ctx, status, client.Apply, owner, client.ForceOwnership)
}

func main() {
	what := flag.String("what", "", "converge, turns, noop or latency")
	workers := flag.Int("workers", 1, "how many notes may be reconciled at once")
	count := flag.Int("count", 0, "how many notes there are")
	flag.Parse()
	if err := run(*workers, &ledger{what: *what, count: *count, turns: map[string]int{}}); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(workers int, ledger *ledger) error {
	ctrl.SetLogger(logr.Discard())
	// By the flag --kubeconfig, which controller-runtime defines.
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.UserAgent = "go/1"
	// No limit on the client's side, as the others have none.
	config.QPS = -1
	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("ready 0")
	if !lines.Scan() {
		return fmt.Errorf("a worker is told to go")
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := addToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&Note{}).
		Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{client: manager.GetClient(), scheme: scheme, ledger: ledger})
	if err != nil {
		return err
	}
	go func() {
		if err := manager.Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	}()
	for lines.Scan() {
		switch lines.Text() {
		case "count":
			fmt.Println("done", ledger.reconciles.Load())
		case "left":
			ledger.mutex.Lock()
			fmt.Println("done", ledger.left)
			ledger.mutex.Unlock()
		case "p99":
			fmt.Println("done", ledger.slowest())
		default:
			return fmt.Errorf("a worker knows no `%s`", lines.Text())
		}
	}
	return lines.Err()
}

var group = schema.GroupVersion{Group: "bench.dev", Version: "v1"}
