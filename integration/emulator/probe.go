package emulator

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// Capabilities is what an emulator can do of what the service can. A field is false where the emulator answers otherwise than
// the service, be it an error or a wrong result.
type Capabilities struct {
	// Regions is how many readable regions the account has: 1 for an emulator. With more than one, regions need not be made up.
	Regions int

	// Ranges is how many partition key ranges a new container has; 0 if it does not say.
	Ranges int

	// RangeIDs: the ids of partition key ranges are strings, as azcosmos needs them for feed ranges, read-many and change feed.
	RangeIDs bool

	// MissingItem: reading an item that is not there gives 404.
	MissingItem bool

	// PartitionQuery: a query with a partition key returns items of that key only.
	PartitionQuery bool

	// Batch: a transactional batch that creates, reads, replaces and deletes an item is carried out.
	Batch bool

	// ChangeFeed: a change feed that is read on returns what was written since, and nothing else.
	ChangeFeed bool

	// ChecksKey: a request that is signed with another key gives 401.
	ChecksKey bool
}

// startWait is how long an endpoint may take to answer for the first time.
const startWait = 30 * time.Second

// probe waits until the account can be read and then asks, in a database of its own, what the emulator can do. The error says
// that it cannot be used at all.
func probe(ctx context.Context, w wire) (c Capabilities, err error) {
	if c.Regions, err = awaitAccount(ctx, w); err != nil {
		return Capabilities{}, err
	}
	p := &prober{ctx: ctx, wire: w, database: "dbs/azcosmos-ha-probe-" + rand.Text()}
	p.container = p.database + "/colls/items"
	defer p.drop()
	if err := p.create(); err != nil {
		return Capabilities{}, err
	}
	c.Ranges, c.RangeIDs = p.readRanges()
	c.MissingItem = p.missingItem()
	c.PartitionQuery = p.partitionQuery()
	c.ChangeFeed = p.changeFeed()
	c.Batch = p.batch()
	c.ChecksKey = p.checksKey()
	return c, p.err
}

// awaitAccount reads the account until it answers, and returns its number of readable regions.
func awaitAccount(ctx context.Context, w wire) (regions int, err error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		a, err := w.send(ctx, http.MethodGet, "", nil, nil)
		if err == nil && a.status != http.StatusServiceUnavailable {
			return accountRegions(a)
		}
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			return 0, fmt.Errorf("%w (%s=1 accepts it)", err, envInsecure)
		}
		if err == nil {
			err = fmt.Errorf("account read: status %d", a.status)
		}
		if pause(ctx, time.Second/4) != nil {
			return 0, fmt.Errorf("no answer in %v: %w", startWait, err)
		}
	}
}

// accountRegions counts the readable regions of an account answer.
func accountRegions(a answer) (int, error) {
	if a.status != http.StatusOK {
		return 0, fmt.Errorf("account read: status %d: %s", a.status, oneLine(string(a.body)))
	}
	var account struct{ ReadableLocations []struct{ Name string } }
	if err := json.Unmarshal(a.body, &account); err != nil {
		return 0, fmt.Errorf("account read: %w", err)
	}
	if len(account.ReadableLocations) == 0 {
		return 0, errors.New("account read: no readable region")
	}
	return len(account.ReadableLocations), nil
}

// prober asks the questions, one after the other. After an error of the connection it asks nothing more and every answer is
// empty, so that the questions need not look.
type prober struct {
	ctx                 context.Context
	wire                wire
	database, container string // paths
	ranges              []string
	err                 error
}

// ask sends a request, again if the service is busy.
func (p *prober) ask(method, path string, header map[string]string, body any) answer {
	const tries = 5
	for n := 1; p.err == nil; n++ {
		var a answer
		a, p.err = p.wire.send(p.ctx, method, path, header, body)
		busy := a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable
		if p.err == nil && (!busy || n == tries) {
			return a
		}
		if p.err == nil {
			p.err = pause(p.ctx, retryAfter(a))
		}
	}
	return answer{}
}

// create makes the database, the container, and the items "1" under the key "a" and "2" under "b".
func (p *prober) create() error {
	_, name, _ := strings.Cut(p.database, "/")
	if a := p.ask(http.MethodPost, "dbs", nil, map[string]any{"id": name}); a.status != http.StatusCreated {
		return p.refused("create database", a)
	}
	container := map[string]any{"id": "items", "partitionKey": map[string]any{"paths": []string{"/pk"}, "kind": "Hash", "version": 2}}
	if a := p.ask(http.MethodPost, p.database+"/colls", nil, container); a.status != http.StatusCreated {
		return p.refused("create container", a)
	}
	for id, key := range map[string]string{"1": "a", "2": "b"} {
		if a := p.put(id, key); a.status != http.StatusCreated {
			return p.refused("create item", a)
		}
	}
	return nil
}

// refused is the error of a step that every question stands on.
func (p *prober) refused(step string, a answer) error {
	if p.err != nil {
		return p.err
	}
	return fmt.Errorf("%s: status %d: %s", step, a.status, oneLine(string(a.body)))
}

// drop deletes the database with all that is in it, even when time is up. A failure to delete fails no test.
func (p *prober) drop() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 10*time.Second)
	defer cancel()
	_, _ = p.wire.send(ctx, http.MethodDelete, p.database, nil, nil)
}

// put creates an item.
func (p *prober) put(id, key string) answer {
	item := map[string]string{"id": id, "pk": key}
	return p.ask(http.MethodPost, p.container+"/docs", keyed(key, nil), item)
}

// keyed returns header with the partition key added.
func keyed(key string, header map[string]string) map[string]string {
	all := map[string]string{headerPartitionKey: `["` + key + `"]`}
	maps.Copy(all, header)
	return all
}

// wrongKey is a key of the right length that no account has.
func wrongKey() string { return base64.StdEncoding.EncodeToString(make([]byte, 64)) }
