package policy_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// bodies stands before a transport and keeps the bodies of the requests on items.
type bodies struct {
	mutex sync.Mutex // guards what follows
	list  []string
}

func (b *bodies) change(o *azcosmos.ClientOptions) {
	next := o.Transport
	o.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		var content []byte
		if r.Body != nil {
			content, _ = io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(content))
		}
		if r.URL.Path != "" && r.URL.Path != "/" {
			b.mutex.Lock()
			b.list = append(b.list, string(content))
			b.mutex.Unlock()
		}
		return next.Do(r)
	})
}

func (b *bodies) take() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	list := b.list
	b.list = nil
	return list
}

// spans is a tracing provider of azcore that counts the spans in flight.
type spans struct {
	mutex sync.Mutex // guards what follows
	open  int
	names map[string]int
}

func (s *spans) provider() tracing.Provider {
	return tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, _ *tracing.SpanOptions) (context.Context, tracing.Span) {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			if s.names == nil {
				s.names = map[string]int{}
			}
			s.open++
			s.names[name]++
			return ctx, s.span()
		}, nil)
	}, nil)
}

func (s *spans) span() tracing.Span {
	var attributes []tracing.Attribute
	return tracing.NewSpan(tracing.SpanImpl{
		End: func() {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.open--
		},
		SetAttributes: func(a ...tracing.Attribute) { attributes = append(attributes, a...) }, // the race detector's bait
		AddEvent:      func(string, ...tracing.Attribute) {},
		SetStatus:     func(tracing.SpanStatus, string) {},
	})
}

func (s *spans) count(name string) (started, open int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.names[name], s.open
}

// TestProbeUnderAzcoreTracing: with a TracingProvider azcore keeps a state in
// the context that must not be used by two requests at once: the probe has one
// of its own, and an HTTP span of its own.
func TestProbeUnderAzcoreTracing(t *testing.T) {
	for _, read := range keyedReads {
		t.Run(read.name, func(t *testing.T) {
			seen := &spans{}
			change := func(o *azcosmos.ClientOptions) { o.TracingProvider = seen.provider() }
			inCircuit(t, setup{change: change}, func(w *circuitWorld) {
				op := read.make(w)
				w.due(op)
				w.Inject(gateway.Rule{Region: A, Container: "items", Delay: time.Second})
				get, _ := seen.count("HTTP GET")
				post, _ := seen.count("HTTP POST")
				require.Equal(w, 1, w.together(20, op))
				time.Sleep(2 * time.Second)
				gets, open := seen.count("HTTP GET")
				posts, _ := seen.count("HTTP POST")
				require.Equal(w, 21, gets-get+posts-post)
				require.Zero(w, open, "every span has ended")
			})
		})
	}
}

// TestProbesUnderLoad: many callers with settings of their own in their
// contexts, while probes come and go: for the race detector, and for the
// captured responses.
func TestProbesUnderLoad(t *testing.T) {
	seen := &spans{}
	s := setup{change: func(o *azcosmos.ClientOptions) { o.TracingProvider = seen.provider() }}
	s.policy.Breaker.OpenFor, s.policy.Breaker.MaxOpenFor = 100*time.Millisecond, 200*time.Millisecond
	s.gateway.Latency = map[string]time.Duration{A: 3 * time.Millisecond, B: 2 * time.Millisecond}
	inCircuit(t, s, func(w *circuitWorld) {
		w.sick(A)
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for range 100 {
					var captured *http.Response
					ctx := azpolicy.WithCaptureResponse(w.Context(), &captured)
					got := outcomeOf(queryKey(ctx, w.container, w.p1))
					require.Equal(w, "200", got)
					require.Equal(w, http.StatusOK, captured.StatusCode)
				}
			})
		}
		callers.Wait()
		w.ha.Close()
		synctest.Wait()
		_, open := seen.count("")
		require.Zero(w, open)
		require.Zero(w, w.inFlight())
	})
}
