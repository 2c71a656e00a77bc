package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/cristalhq/hedgedhttp"
)

// buildHedged is azcosmos with hedgedhttp as its transport.
func buildHedged(s setting) (*app, error) {
	base := s.transport
	var err error
	if s.virtual {
		s.transport = readsOnly{base, schedule{base, s.threshold, hedgedUpto}}
		return buildPlain(s)
	}
	hedging, err := hedgedhttp.New(hedgedhttp.Config{Transport: base, Upto: hedgedUpto, Delay: s.threshold})
	if err != nil {
		return nil, err
	}
	s.transport = readsOnly{base, hedging}
	return buildPlain(s)
}

// hedgedUpto is how many requests hedgedhttp makes of one, the first one included.
const hedgedUpto = 2

// readsOnly hedges GET. hedgedhttp itself hedges whatever comes, writes included, and its copies of a request share one body:
// a query, which is a POST, would be sent broken the second time.
type readsOnly struct{ base, hedging http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t readsOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return t.hedging.RoundTrip(r)
	}
	return t.base.RoundTrip(r)
}

// schedule sends when hedgedhttp v0.9.2 does and returns what it does: the next request after each delay, or at once after an
// error, until one has an answer or all have failed. hedgedhttp itself cannot live in a synctest bubble, for its goroutines
// wait on a channel of the whole process and its timers go from one bubble to the next. A test compares the two.
type schedule struct {
	next  http.RoundTripper
	delay time.Duration
	upto  int
}

// leg is what became of one request.
type leg struct {
	index    int
	response *http.Response
	err      error
}

// RoundTrip implements [http.RoundTripper].
func (s schedule) RoundTrip(r *http.Request) (*http.Response, error) {
	legs := make(chan leg, s.upto)
	cancels := make([]context.CancelFunc, 0, s.upto)
	winner := -1
	defer func() {
		for i, cancel := range cancels {
			if i != winner {
				cancel()
			}
		}
	}()
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	var failed []error
	for len(failed) < s.upto {
		if i := len(cancels); i < s.upto {
			ctx, cancel := context.WithCancel(r.Context())
			cancels = append(cancels, cancel)
			go func() {
				response, err := s.next.RoundTrip(r.WithContext(ctx)) //nolint:bodyclose // the caller closes the winner's; nobody closes a loser's, as in hedgedhttp
				legs <- leg{i, response, err}
			}()
			timer.Reset(s.delay)
		}
		select {
		case l := <-legs:
			if l.err == nil {
				winner = l.index
				l.response.Body = body{l.response.Body, cancels[winner]}
				return l.response, nil
			}
			failed = append(failed, l.err)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-timer.C:
		}
	}
	return nil, errors.Join(failed...)
}

// body ends the winner's context with its body.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body.
func (b body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
