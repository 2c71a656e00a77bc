package policy

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

// knownAccount is an account of a Middleware that has told its regions.
func knownAccount(t *testing.T, o Options, names ...string) *account {
	t.Helper()
	m, err := New(o)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	a := m.account("acct.documents.azure.test")
	_, err = a.takeOver(accountOf(names...))
	require.NoError(t, err)
	return a
}

func accountOf(names ...string) (a regions.Account) {
	for _, name := range names {
		a.Readable = append(a.Readable, regions.Region{Name: name, Endpoint: "https://acct-" + regions.Normalize(name) + ".documents.azure.test:443/"})
	}
	a.Writable = a.Readable[:1]
	return a
}

// TestStateOfManyPartitions: with a hundred thousand unwell partitions the state
// counts all, lists the first 200 of the oldest with their causes, and neither
// it nor the gauges nor the page take long.
func TestStateOfManyPartitions(t *testing.T) {
	const many = 100_000
	a := knownAccount(t, Options{Breaker: breaker.Options{ReadFailures: 1}}, "West US", "East US")
	now := time.Now().Add(-time.Minute)
	for i := range uint64(many) {
		tr, changed := a.breaker.Record(breaker.Key{Container: 1, Range: i + 1}, 0, false, breaker.Failure, now.Add(time.Duration(i)*time.Microsecond))
		require.True(t, changed)
		a.tellTransition(tr)
	}
	begin := time.Now()
	state := a.middleware.State()
	gauges := a.middleware.gauges()
	w := httptest.NewRecorder()
	telemetry.Handler(a.middleware.State).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	t.Logf("state, gauges and page took %s", time.Since(begin))
	require.Less(t, time.Since(begin), 10*time.Second)
	account := state.Accounts[0]
	require.Equal(t, many, account.UnwellCount)
	require.Equal(t, many, account.OpenCount)
	require.Equal(t, many, account.Regions[0].Open)
	require.Equal(t, many, gauges.OpenReads["West US"])
	require.Len(t, account.Unwell, maxListed)
	for i, p := range account.Unwell {
		require.Equal(t, "consecutive failures", p.Cause)
		require.Equal(t, now.Add(time.Duration(i)*time.Microsecond).UnixMicro(), p.Since.UnixMicro())
	}
	require.Equal(t, many, state.Decisions[0].Count)
	require.Contains(t, w.Body.String(), "left out for 100000 partitions")
	require.Less(t, w.Body.Len(), 300_000)
}

// TestLoggerThatBlocks: a log handler that blocks while a new topology is told
// does not hold up the account.
func TestLoggerThatBlocks(t *testing.T) {
	h := &stuckHandler{entered: make(chan struct{}), release: make(chan struct{})}
	a := knownAccount(t, Options{Telemetry: telemetry.Options{Logger: slog.New(h)}}, "West US", "East US")
	done := make(chan struct{})
	go func() {
		defer close(done)
		told, err := a.takeOver(accountOf("East US", "West US"))
		if err != nil {
			return
		}
		for _, d := range told {
			a.middleware.observer.Decided(nil, d)
		}
	}()
	<-h.entered
	require.Nil(t, a.refresh(time.Now(), refreshInterval), "there is no template; what matters is that it returns")
	require.Nil(t, a.inFlight())
	require.Equal(t, "East US", a.middleware.State().Accounts[0].Regions[0].Name)
	close(h.release)
	<-done
}

// stuckHandler blocks in its first line.
type stuckHandler struct{ entered, release chan struct{} }

func (*stuckHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *stuckHandler) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h *stuckHandler) WithGroup(string) slog.Handler          { return h }

func (h *stuckHandler) Handle(context.Context, slog.Record) error {
	close(h.entered)
	<-h.release
	return nil
}

// TestOpenings: the first opening is remembered until the region is healthy,
// the last cause with it, for a bounded number of records.
func TestOpenings(t *testing.T) {
	var o openings
	now := time.Now()
	at := func(n uint64) breaker.Entry { return breaker.Entry{Key: breaker.Key{Range: n}} }
	tell := func(n uint64, to breaker.State, c breaker.Cause, after time.Duration) {
		o.note(breaker.Transition{Key: breaker.Key{Range: n}, To: to, Cause: c}, now.Add(after))
	}
	tell(1, breaker.Unavailable, breaker.FailureRate, 0)
	tell(1, breaker.Unavailable, breaker.ProbeFailed, time.Minute)
	got, known := o.of(at(1))
	require.True(t, known)
	require.Equal(t, opening{now, breaker.ProbeFailed}, got)
	tell(1, breaker.Healthy, breaker.Recovered, time.Hour)
	_, known = o.of(at(1))
	require.False(t, known)
	for n := range uint64(2 * maxOpenings) {
		tell(n, breaker.Unavailable, breaker.SlowWins, 0)
	}
	require.Len(t, o.known, maxOpenings)
	o.forget(0)
	require.Empty(t, o.known, "region 0 has left")
}
