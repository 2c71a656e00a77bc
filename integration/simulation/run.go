package simulation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
	"github.com/azcosmos-ha/azcosmos-ha/ppaf"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// Run is what happened in a world: the evidence that the invariants judge.
type Run struct {
	World
	Began, Live, Healed, Ended time.Time

	Log     []gateway.Entry
	Spans   []sdktrace.ReadOnlySpan
	Results []Result
	Changes []Change
	Double  []gateway.Execution // writes that took effect twice
	Writes  []gateway.Execution // that took effect
	Stored  map[string]int      // the values in the store in the end, by "key/id"; nil: nobody has looked

	AtHeal, AtEnd  telemetry.State // when the events were over, and after a quiet hour
	RangesAtTheEnd []string
	Stuck          string // why the run did not come to its end; "" if it did

	// Slack is what real time may add to every duration, see [Stage]; 0 in a
	// bubble, where times are exact and every invariant is judged.
	Slack time.Duration
	// Patient tells that breaker and failover had the time to let go of everything.
	Patient bool
	// Shared tells that requests share connections, as HTTP/2's do: what breaks
	// one breaks the others of its region.
	Shared bool
}

// environment is a world while it runs.
type environment struct {
	*Run
	database  string
	key       string                     // of the account
	endpoint  func(region string) string // "": the global one
	transport azpolicy.Transporter
	gateway   *gateway.Gateway
	store     *gateway.Store
	ha        *policy.Middleware
	client    *azcosmos.Client
	container *azcosmos.ContainerClient
	spans     *tracetest.SpanRecorder
	changes   changeLog

	// clock is held while an event begins in real time: a call starts before
	// the event, or after it, and the record says which.
	clock               sync.RWMutex
	mutex               sync.Mutex // guards what follows, and Results
	failover, noHedging *bool      // the account's flags as they are now
}

// Do runs the world in a bubble of its own and returns what happened. A
// goroutine that is left behind, or a call that never ends, leaves Stuck.
func (w World) Do(t *testing.T) (r *Run) {
	r = &Run{World: w}
	defer func() {
		if p := recover(); p != nil {
			r.Stuck = fmt.Sprint(p)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		e := &environment{Run: r, failover: w.Account.PartitionFailover, noHedging: w.Account.HedgingDisabled}
		if err := e.start(t.Context()); err != nil {
			r.Stuck = err.Error()
			return
		}
		e.live(t.Context())
		e.heal(t.Context())
		e.quiet(t.Context())
		e.stop()
	})
	return r
}

// start makes the account and the client.
func (e *environment) start(ctx context.Context) error {
	w := e.World
	e.store = gateway.NewStore()
	e.store.CreateContainer("db", "items", "/pk")
	// A name of its own: azcosmos keeps caches by endpoint for the whole process.
	e.gateway = gateway.New(gateway.Options{
		Account: accountName(), Regions: w.Account.Regions, MultiWrite: w.Account.MultiWrite,
		PartitionFailover: w.Account.PartitionFailover, HedgingDisabled: w.Account.HedgingDisabled,
		Ranges: w.Account.Ranges, Latency: Durations(w.Account.Latency), Lag: Durations(w.Account.Lag),
		Seed: w.Seed, Upstream: e.store,
	})
	if err := e.fill(ctx); err != nil {
		return err
	}
	time.Sleep(time.Minute) // what was written is everywhere
	e.database, e.key, e.transport = "db", gateway.EmulatorKey, e.gateway.Transport()
	e.endpoint = func(region string) string {
		if region == "" {
			return e.gateway.Endpoint()
		}
		return e.gateway.RegionEndpoint(region)
	}
	return e.open(ctx)
}

// open makes the client, and sends the first read.
func (e *environment) open(ctx context.Context) error {
	w := e.World
	e.gateway.ResetLog()
	e.spans = tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(e.spans), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	options := w.Client.options(len(w.Callers) == 1)
	options.Telemetry = telemetry.Options{TracerProvider: provider, Logger: slog.New(&e.changes)}
	var err error
	if e.ha, err = policy.New(options); err != nil {
		return err
	}
	if err := e.connect(); err != nil {
		return err
	}
	e.Began = time.Now()
	if !w.Cold {
		e.call(ctx, &caller{number: warmCaller}, 0, Call{Op: Read, Deadline: Duration(time.Minute)})
	}
	return nil
}

func (e *environment) connect() error {
	c := e.Client
	o := &azcosmos.ClientOptions{
		ClientOptions:    azcore.ClientOptions{Transport: tap{e.transport}},
		PreferredRegions: c.Preferred,
	}
	e.ha.Apply(o)
	credential, err := azcosmos.NewKeyCredential(e.key)
	if err != nil {
		return err
	}
	if e.client, err = azcosmos.NewClientWithKey(e.endpoint(c.Regional), credential, o); err != nil {
		return err
	}
	if c.Bind {
		e.ha.Bind(e.client)
	}
	e.container, err = e.client.NewContainer(e.database, "items")
	return err
}

// options are the client's, of one without jitter if the run is to be
// repeated to the last request.
func (c Client) options(steady bool) policy.Options {
	b := breaker.Options{
		Disabled: c.NoBreaker, ReadFailures: c.ReadFailures, WriteFailures: c.WriteFailures,
		SlowWins: c.SlowWins, OpenFor: time.Duration(c.OpenFor), MaxOpenFor: time.Duration(c.MaxOpenFor),
		ResetAfter: time.Duration(c.ResetAfter), RateWindow: time.Duration(c.RateWindow),
	}
	if steady {
		b = b.WithoutJitter()
	}
	return policy.Options{
		ExcludedRegions: c.Excluded,
		Retry: policy.RetryOptions{
			MaxAttempts: c.MaxAttempts, AttemptTimeout: time.Duration(c.AttemptTimeout), RepeatWrites: c.RepeatWrites,
		},
		Breaker:  b,
		Failover: ppaf.Options{Mode: ppaf.Mode(c.Failover), Timeouts: c.Timeouts, TimeoutWindow: time.Duration(c.TimeoutWindow)}, //nolint:gosec // one of three
		Hedge: hedge.Options{
			Disabled: c.NoHedge, Threshold: time.Duration(c.Threshold), Step: time.Duration(c.Step),
			MaxHedges: c.MaxHedges, Writes: c.HedgeWrites, MaxInFlight: c.MaxInFlight,
		},
	}
}

// fill puts the items into the store, past the middleware.
func (e *environment) fill(ctx context.Context) error {
	hub := e.Account.Regions[0]
	for _, item := range e.Items() {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.gateway.RegionEndpoint(hub)+"dbs/db/colls/items/docs",
			bytes.NewReader(item.Body))
		if err != nil {
			return err
		}
		r.Header.Set("x-ms-documentdb-is-upsert", "true")
		r.Header.Set("x-ms-documentdb-partitionkey", `["`+item.Key+`"]`)
		answer, err := e.gateway.RoundTripper().RoundTrip(r)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	return nil
}

// live lets the callers call while the events happen, and returns when all of
// that is over.
func (e *environment) live(ctx context.Context) {
	e.Live = time.Now()
	var group sync.WaitGroup
	for i := range e.Events {
		group.Go(func() { e.happen(e.Events[i]) })
	}
	for i, calls := range e.Callers {
		group.Go(func() {
			c := &caller{number: i}
			for n, call := range calls {
				time.Sleep(time.Duration(call.Wait))
				e.call(ctx, c, n, call)
			}
		})
	}
	group.Wait()
}

// stop closes everything and collects the evidence.
func (e *environment) stop() {
	e.ha.Close()
	e.client.Close()
	synctest.Wait()
	e.collect()
	r := e.Run
	r.Double, r.Writes = e.store.Repeated(), e.store.Executions("items", "")
}

// collect takes the evidence of everybody but the store.
func (e *environment) collect() {
	r := e.Run
	r.Ended = time.Now()
	r.Log, r.Spans, r.Changes = e.gateway.Log(), e.spans.Ended(), e.changes.all()
	r.RangesAtTheEnd = e.gateway.Ranges("items")
}
