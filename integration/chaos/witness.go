package chaos

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

// witness stands in front of an emulator and sees which writes to items take
// effect, as the store in process does by itself: in order, for it lets one write
// of a partition key pass at a time. All methods are safe for concurrent use.
type witness struct {
	gateway.Upstream
	writing sync.WaitGroup // writes in flight: they go on without their clients

	mutex sync.Mutex // guards what follows
	keys  map[string]*sync.Mutex
	seen  []gateway.Execution
	asked int
}

// Do implements gateway.Upstream.
func (w *witness) Do(ctx context.Context, r *gateway.Request) (*gateway.Answer, error) {
	if !r.Write || r.Key == "" {
		return w.Upstream.Do(ctx, r)
	}
	type result struct {
		answer *gateway.Answer
		err    error
	}
	done := make(chan result, 1)
	w.writing.Go(func() {
		key := w.key(r.Key)
		key.Lock()
		defer key.Unlock()
		a, err := w.Upstream.Do(context.WithoutCancel(ctx), r)
		if err == nil {
			w.note(r, a)
		}
		done <- result{a, err}
	})
	select {
	case got := <-done:
		return got.answer, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// key is the lock of a partition key.
func (w *witness) key(name string) *sync.Mutex {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.keys == nil {
		w.keys = map[string]*sync.Mutex{}
	}
	if w.keys[name] == nil {
		w.keys[name] = new(sync.Mutex)
	}
	return w.keys[name]
}

// note keeps what a request has changed: all of a batch, or nothing of it.
func (w *witness) note(r *gateway.Request, a *gateway.Answer) {
	if a.Status >= http.StatusMultiStatus {
		return
	}
	x := gateway.Execution{
		Operation: r.Operation, Database: r.Database, Container: r.Container, Key: r.Key, ID: r.ID, Activity: r.Header.Get("x-ms-activity-id"),
	}
	var steps []struct {
		OperationType, ID string
		ResourceBody      struct{ ID string }
	}
	var item struct{ ID string }
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.asked++
	x.Request = w.asked
	switch {
	case r.Operation != "batch":
		if x.ID == "" && json.Unmarshal(r.Body, &item) == nil {
			x.ID = item.ID
		}
		w.add(x)
	case json.Unmarshal(r.Body, &steps) == nil:
		for _, s := range steps {
			x.Operation, x.ID = "batch/"+strings.ToLower(s.OperationType), s.ID+s.ResourceBody.ID
			if x.Operation != "batch/read" {
				w.add(x)
			}
		}
	}
}

func (w *witness) add(x gateway.Execution) {
	x.Seq = len(w.seen) + 1
	w.seen = append(w.seen, x)
}

// Executions are the writes that took effect, in order, once none is in flight.
func (w *witness) Executions() []gateway.Execution {
	w.writing.Wait()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.seen
}

// repeated are the writes among them that took effect although a write of the
// same operation, item and activity id had before, in another request.
func repeated(list []gateway.Execution) []gateway.Execution {
	first := map[gateway.Execution]int{}
	var again []gateway.Execution
	for _, x := range list {
		same := x
		same.Seq, same.Request = 0, 0
		if request, ok := first[same]; !ok {
			first[same] = x.Request
		} else if request != x.Request {
			again = append(again, x)
		}
	}
	return again
}
