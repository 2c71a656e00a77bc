package simulation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// Result is how one call ended.
type Result struct {
	Call
	ID         string // "caller.number": in the header callHeader of its requests
	Caller     int
	Start, End time.Time
	Until      time.Time // its deadline
	N          int       // the value that a write wrote
	Token      string    // the session token that was sent
	Answer     answer
	Opened     []string // the regions that the breaker had opened before or after it, with ":w" for writes
	Out        []string // those that it had opened all the time, likewise
}

// answer is what a caller got.
type answer struct {
	Status, Sub int    // of the response, or of the error's; 0 without one
	Err         string // "", "answer", "deadline", "cancelled", "transport"
	Text        string // of the error
	Items       map[string]int
}

// ok reports whether the call got what the store had to say.
func (a answer) ok() bool {
	switch a.Status {
	case http.StatusNotModified, http.StatusConflict, http.StatusPreconditionFailed:
		return true
	case http.StatusNotFound:
		return a.Sub == 0
	default:
		return a.Err == ""
	}
}

// String is the answer in short.
func (a answer) String() string {
	if a.Status != 0 {
		return fmt.Sprintf("%d/%d", a.Status, a.Sub)
	}
	if a.Err == "" {
		return "ok"
	}
	return a.Err
}

// callHeader carries the ID of the call to the gateway's log.
const callHeader = "x-simulation-call"

// caller is one caller with its session.
type caller struct {
	number  int
	calls   int
	session session
}

// call makes a call and keeps how it ended.
func (e *environment) call(parent context.Context, c *caller, number int, call Call) {
	r := Result{Call: call, Caller: c.number, ID: itoa(c.number) + "." + itoa(number), Start: e.now()}
	c.calls++
	r.N = int(values.Add(1))
	r.Until = r.Start.Add(time.Duration(call.Deadline))
	ctx, cancel := context.WithDeadline(e.contextOf(parent, r), r.Until)
	defer cancel()
	if call.Cancel > 0 {
		t := time.AfterFunc(time.Duration(call.Cancel), cancel)
		defer t.Stop()
	}
	if call.Session {
		r.Token = c.session.token(call.Key)
	}
	before := e.opened()
	response, items, err := e.perform(ctx, r) //nolint:bodyclose // azcosmos has read and closed it
	r.End = time.Now()
	r.Opened, r.Out = someAndAlways(before, e.opened())
	r.Answer = answerOf(response, err)
	r.Answer.Items = items
	if response != nil && r.Answer.ok() {
		c.session.learn(call.Key, response.Header.Get("x-ms-session-token"))
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.Results = append(e.Results, r)
}

// now is the time between two events.
func (e *environment) now() time.Time {
	e.clock.RLock()
	defer e.clock.RUnlock()
	return time.Now()
}

// openedNow is a region that the breaker has opened for some partition, with the
// time of the next probe, which no two openings share.
type openedNow struct {
	region string
	probe  time.Time
}

// someAndAlways are the regions that were opened before or after, and those that
// were all the time.
func someAndAlways(before, after []openedNow) (some, always []string) {
	for _, o := range slices.Concat(before, after) {
		some = append(some, o.region)
	}
	for _, o := range before {
		if slices.Contains(after, o) {
			always = append(always, o.region)
		}
	}
	return some, always
}

// opened are the regions that the breaker has opened for some partition.
func (e *environment) opened() (list []openedNow) {
	for _, a := range e.ha.State().Accounts {
		for _, p := range a.Unwell {
			switch {
			case p.NextProbe == nil:
			case p.Write:
				list = append(list, openedNow{p.Region + ":w", *p.NextProbe})
			default:
				list = append(list, openedNow{p.Region, *p.NextProbe})
			}
		}
	}
	return list
}

// values are the numbers that writes write: no two of a process are the same.
var values atomic.Int64

// contextOf carries what a call says for itself.
func (e *environment) contextOf(ctx context.Context, r Result) context.Context {
	ctx = azpolicy.WithHTTPHeader(ctx, http.Header{http.CanonicalHeaderKey(callHeader): {r.ID}})
	if r.Excluded != nil {
		ctx = regions.WithExcluded(ctx, *r.Excluded...)
	}
	if r.Silent {
		ctx = silenced(ctx)
	}
	switch r.Hedge {
	case HedgeOn:
		ctx = hedge.With(ctx, hedge.Options{Threshold: time.Duration(r.Threshold)})
	case HedgeOff:
		ctx = hedge.Off(ctx)
	}
	return ctx
}

func answerOf(response *http.Response, err error) answer {
	var answered *azcore.ResponseError
	switch {
	case err == nil && response != nil:
		return answer{Status: response.StatusCode, Sub: subStatus(response)}
	case err == nil:
		return answer{}
	case errors.As(err, &answered):
		return answer{Status: answered.StatusCode, Sub: subStatus(answered.RawResponse), Err: "answer", Text: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return answer{Err: "deadline", Text: err.Error()}
	case errors.Is(err, context.Canceled):
		return answer{Err: "cancelled", Text: err.Error()}
	default:
		return answer{Err: "transport", Text: err.Error()}
	}
}

func subStatus(r *http.Response) int {
	if r == nil {
		return 0
	}
	n, _ := strconv.Atoi(r.Header.Get("x-ms-substatus"))
	return n
}
