package gateway

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// EmulatorKey is the well-known account key of the emulators.
const EmulatorKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// HTTPUpstream is an [Upstream] that is an emulator, or an account, with one region. Requests go there as they came: their
// signatures do not cover the host. All methods are safe for concurrent use.
//
// Ranges and write regions are the gateway's; the upstream's own range ids are hidden, and pages of what is about one of the
// gateway's ranges are filtered by effective partition key.
type HTTPUpstream struct {
	base     string
	adapters Adapters

	mu         sync.Mutex // guards containers
	containers map[[2]string]Container
}

// Adapters make up for what an emulator lacks. The zero value is an emulator that lacks nothing.
type Adapters struct {
	// CrossPartitionReads marks reads of one item as cross-partition queries, without which @vercel/cosmosdb-server answers 500
	// instead of 404.
	CrossPartitionReads bool
	// BatchKeys writes the partition key into every operation of a batch, and answers 207 when one has failed.
	BatchKeys bool
	// FilterKeys filters the pages of queries in one partition, for emulators that answer with other partitions' items too.
	FilterKeys bool
	// RangeID is sent as the partition key range id in the place of the gateway's; "" sends none.
	RangeID string
	// Key signs the gateway's own look-ups of containers. Default: [EmulatorKey].
	Key string
	// Client sends the requests. Default: a client of its own without proxy.
	Client *http.Client
}

// VercelAdapters are those of @vercel/cosmosdb-server 1.0.1.
func VercelAdapters() Adapters {
	return Adapters{CrossPartitionReads: true, BatchKeys: true, FilterKeys: true}
}

// NewHTTPUpstream makes an upstream of the emulator at a base URL, such as http://127.0.0.1:8081.
func NewHTTPUpstream(baseURL string, a Adapters) (*HTTPUpstream, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	if u.Host == "" {
		return nil, fmt.Errorf("upstream: no host in %q", baseURL)
	}
	if a.Key == "" {
		a.Key = EmulatorKey
	}
	if a.Client == nil {
		a.Client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, ForceAttemptHTTP2: true}}
	}
	return &HTTPUpstream{base: u.Scheme + "://" + u.Host, adapters: a, containers: map[[2]string]Container{}}, nil
}

// Do implements [Upstream]. A write goes on without its client, for as long as the upstream takes.
func (u *HTTPUpstream) Do(ctx context.Context, r *Request) (*Answer, error) {
	if !r.Write {
		return u.send(ctx, r)
	}
	type result struct {
		answer *Answer
		err    error
	}
	done := make(chan result, 1)
	go func() {
		a, err := u.send(context.WithoutCancel(ctx), r)
		done <- result{a, err}
	}()
	select {
	case res := <-done:
		return res.answer, res.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send adapts, sends, reads and adapts again.
func (u *HTTPUpstream) send(ctx context.Context, r *Request) (*Answer, error) {
	header, body := u.adapt(r)
	for {
		a, err := u.exchange(ctx, r.Method, r.Path, header, body)
		if err != nil {
			return nil, err
		}
		u.learn(r, a)
		switch r.Operation {
		case "batch":
			u.markFailedBatch(a)
		case "query", "readfeed":
			u.filter(r, a)
		case "changefeed":
			// A page on which nothing is left is no end: the client would take it for one.
			emptied, next := u.filter(r, a), a.Header.Get("etag")
			if emptied && next != "" && next != header.Get("If-None-Match") {
				header.Set("If-None-Match", next)
				continue
			}
		}
		return a, nil
	}
}

// hidden are headers that belong to one hop, or to the upstream's own idea of its ranges.
var hidden = []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Date", "Accept-Encoding", headerRange}

// withoutHidden is a copy of a header without what must not pass.
func withoutHidden(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range hidden {
		h.Del(name)
	}
	return h
}

// exchange is one HTTP exchange.
func (u *HTTPUpstream) exchange(ctx context.Context, method, path string, h http.Header, body []byte) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = h
	resp, err := u.adapters.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return &Answer{Status: resp.StatusCode, Header: withoutHidden(resp.Header), Body: b}, nil
}

// Lookup implements [Upstream]. What was learned from requests that passed is known; the rest is asked for, with a signature of
// the gateway's own.
func (u *HTTPUpstream) Lookup(ctx context.Context, database, id string) (Container, bool) {
	u.mu.Lock()
	known, ok := u.containers[[2]string{database, id}]
	for at, c := range u.containers {
		if database == "" && at[1] == id && (!ok || at[0] < known.Database) {
			known, ok = c, true
		}
	}
	u.mu.Unlock()
	if ok || database == "" {
		return known, ok
	}
	path := "/dbs/" + url.PathEscape(database) + "/colls/" + url.PathEscape(id)
	date := strings.ToLower(time.Now().UTC().Format(http.TimeFormat))
	h := http.Header{}
	h.Set("x-ms-date", date)
	h.Set("x-ms-version", "2020-11-05")
	h.Set("Authorization", signature(u.adapters.Key, http.MethodGet, "colls", "dbs/"+database+"/colls/"+id, date))
	a, err := u.exchange(ctx, http.MethodGet, path, h, nil)
	if err != nil || a.Status != http.StatusOK {
		return Container{}, false
	}
	return u.remember(database, a.Body)
}

// signature is the master key's authorization for one request.
func signature(key, method, kind, link, date string) string {
	secret, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		secret = []byte(key) // the upstream refuses it and says so
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n\n", strings.ToLower(method), kind, link, date)
	return url.QueryEscape("type=master&ver=1.0&sig=" + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// learn keeps the known containers right.
func (u *HTTPUpstream) learn(r *Request, a *Answer) {
	switch r.Operation {
	case "container/create", "container/read", "container/replace":
		if a.Status < 300 {
			u.remember(r.Database, a.Body)
		}
	case "container/delete", "database/delete":
		u.mu.Lock()
		defer u.mu.Unlock()
		for at := range u.containers {
			if at[0] == r.Database && (r.Container == "" || at[1] == r.Container) {
				delete(u.containers, at)
			}
		}
	}
}

// remember keeps a container from its JSON; what is no container is not kept.
func (u *HTTPUpstream) remember(database string, body []byte) (Container, bool) {
	var c struct {
		ID  string     `json:"id"`
		RID string     `json:"_rid"`
		Def Definition `json:"partitionKey"`
	}
	if json.Unmarshal(body, &c) != nil || c.ID == "" || c.RID == "" || len(c.Def.Paths) == 0 {
		return Container{}, false
	}
	known := Container{Database: database, ID: c.ID, RID: c.RID, Definition: c.Def}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.containers[[2]string{database, c.ID}] = known
	return known, true
}
