package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/integration/simulation"
)

// account is a round's account: the gateway under test, and a way past it to the
// same data, by a plain client and a gateway with one region in which nothing ever
// happens.
type account struct {
	*gateway.Gateway
	world         simulation.World
	database, key string
	past          *azcosmos.Client
	items         *azcosmos.ContainerClient
	executions    func() []gateway.Execution
	closeIdle     func() // connections to the emulator
}

// accounts counts those of the process: azcosmos keeps caches by endpoint.
var accounts atomic.Int64

// newAccount makes the account of a world, with its items.
func (a arena) newAccount(ctx context.Context, w simulation.World) (*account, error) {
	name := "chaos" + strconv.FormatInt(accounts.Add(1), 10)
	c := &account{world: w, database: name + "-" + strconv.FormatInt(time.Now().UnixNano(), 36), key: gateway.EmulatorKey}
	upstream, err := a.upstream(c)
	if err != nil {
		return nil, err
	}
	c.Gateway = gateway.New(gateway.Options{
		Account: name, Regions: w.Account.Regions, MultiWrite: w.Account.MultiWrite,
		PartitionFailover: w.Account.PartitionFailover, HedgingDisabled: w.Account.HedgingDisabled, Ranges: w.Account.Ranges,
		Latency: simulation.Durations(w.Account.Latency), Lag: simulation.Durations(w.Account.Lag), Seed: w.Seed, Upstream: upstream,
	})
	return c, c.fill(ctx, gateway.New(gateway.Options{Account: name + "past", Regions: []string{"Past"}, Upstream: upstream}))
}

// upstream is the store in process, or the emulator with a witness.
func (a arena) upstream(c *account) (gateway.Upstream, error) {
	if a.emulator == nil {
		store := gateway.NewStore()
		c.executions = func() []gateway.Execution { return store.Executions("items", "") }
		c.closeIdle = func() {}
		return store, nil
	}
	adapters := gateway.VercelAdapters()
	adapters.Client, adapters.Key = a.emulator.HTTPClient(), a.emulator.Key
	c.key, c.closeIdle = a.emulator.Key, adapters.Client.CloseIdleConnections
	next, err := gateway.NewHTTPUpstream(a.emulator.Endpoint, adapters)
	w := &witness{Upstream: next}
	c.executions = w.Executions
	return w, err
}

// fill makes the database, the container and the items.
func (c *account) fill(ctx context.Context, past *gateway.Gateway) error {
	credential, err := azcosmos.NewKeyCredential(c.key)
	if err != nil {
		return err
	}
	o := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: past.Transport()}}
	if c.past, err = azcosmos.NewClientWithKey(past.Endpoint(), credential, o); err != nil {
		return err
	}
	if _, err = c.past.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: c.database}, nil); err != nil {
		return err
	}
	db, err := c.past.NewDatabase(c.database)
	if err != nil {
		return err
	}
	_, err = db.CreateContainer(ctx, azcosmos.ContainerProperties{
		ID: "items", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, nil)
	if err != nil {
		return err
	}
	if c.items, err = c.past.NewContainer(c.database, "items"); err != nil {
		return err
	}
	for _, item := range c.world.Items() {
		if _, err := c.items.CreateItem(ctx, azcosmos.NewPartitionKeyString(item.Key), item.Body, nil); err != nil {
			return err
		}
	}
	return nil
}

// stored are the values of the items that there are, by "key/id".
func (c *account) stored(ctx context.Context) (map[string]int, error) {
	values := map[string]int{}
	for _, item := range c.world.Items() {
		answer, err := c.items.ReadItem(ctx, azcosmos.NewPartitionKeyString(item.Key), item.ID, nil)
		var missing *azcore.ResponseError
		if errors.As(err, &missing) && missing.StatusCode == http.StatusNotFound {
			continue
		}
		var body struct{ N int }
		if err == nil {
			err = json.Unmarshal(answer.Value, &body)
		}
		if err != nil {
			return nil, err
		}
		values[item.Key+"/"+item.ID] = body.N
	}
	return values, nil
}

// close takes the database away, and what is open to the emulator.
func (c *account) close(ctx context.Context) error {
	defer c.closeIdle()
	defer c.past.Close()
	db, err := c.past.NewDatabase(c.database)
	if err != nil {
		return err
	}
	_, err = db.Delete(ctx, nil)
	return err
}
