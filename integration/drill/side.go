package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// The names of the sides.
const (
	ours  = "azcosmos-ha"
	plain = "plain"
)

// items is how many items there are to read.
const items = 50

// side is an application: the client under test, on a stage of its own.
type side struct {
	name     string
	database string
	cast     *cast
	stage    *stage

	ha        *policy.Middleware // nil on the plain side
	client    *azcosmos.Client
	container *azcosmos.ContainerClient
}

// renew makes a new client, with a new middleware on our side: one that remembers nothing.
func (s *side) renew() error {
	s.close()
	credential, err := azcosmos.NewKeyCredential(s.cast.key)
	if err != nil {
		return err
	}
	o := &azcosmos.ClientOptions{
		ClientOptions:    azcore.ClientOptions{Transport: s.stage.tap},
		PreferredRegions: s.cast.preferred,
	}
	if s.name == ours {
		s.ha, err = policy.New(policy.Options{
			Retry:     policy.RetryOptions{AttemptTimeout: s.cast.attemptTimeout},
			Telemetry: s.cast.export.options(o),
		})
		if err != nil {
			return err
		}
		s.ha.Apply(o)
	}
	if s.client, err = azcosmos.NewClientWithKey(s.stage.endpoint, credential, o); err != nil {
		return err
	}
	if s.ha != nil {
		s.ha.Bind(s.client)
	}
	s.container, err = s.client.NewContainer(s.database, "items")
	return err
}

// close ends what the middleware does in the background.
func (s *side) close() {
	if s.ha != nil {
		s.ha.Close()
	}
}

// furnish makes the database, the container and the items.
func (s *side) furnish(ctx context.Context) error {
	_, err := s.client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: s.database}, nil)
	if err != nil && !conflict(err) {
		return fmt.Errorf("create the database %s: %w", s.database, err)
	}
	database, err := s.client.NewDatabase(s.database)
	if err != nil {
		return err
	}
	_, err = database.CreateContainer(ctx, azcosmos.ContainerProperties{
		ID:                     "items",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Kind: azcosmos.PartitionKeyKindHash, Version: 2, Paths: []string{"/pk"}},
	}, nil)
	if err != nil && !conflict(err) {
		return fmt.Errorf("create the container: %w", err)
	}
	for i := range items {
		if err := s.upsert(ctx, itemID(i)); err != nil {
			return fmt.Errorf("create the items: %w", err)
		}
	}
	return nil
}

// conflict: the other side was there first.
func conflict(err error) bool {
	e, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && e.StatusCode == http.StatusConflict
}

// clear deletes the database.
func (s *side) clear(ctx context.Context) error {
	database, err := s.client.NewDatabase(s.database)
	if err == nil {
		_, err = database.Delete(ctx, nil)
	}
	return err
}

// warm brings a new client to where an application's client is: it knows the account and has connections. New containers of
// an account take a while to reach every region, so that a read may have to be repeated; that is not what the drill is about.
func (s *side) warm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	pause := time.NewTicker(500 * time.Millisecond)
	defer pause.Stop()
	for {
		err := s.read(ctx, itemID(0))
		if err == nil {
			return s.upsert(ctx, itemID(0))
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("first request of %s: %w", s.name, err)
		}
	}
}

// do sends one request of the load and returns what became of it. begun is when the run began.
func (s *side) do(ctx context.Context, r request, begun time.Time) operation {
	ctx, cancel := context.WithTimeout(ctx, s.cast.timeout)
	defer cancel()
	ctx, n := withNotes(ctx)
	o := operation{write: r.write, start: time.Since(begun)}
	if r.write {
		o.err = s.upsert(ctx, s.name+"-"+r.id)
	} else {
		o.err = s.read(ctx, r.id)
	}
	o.end = time.Since(begun)
	o.contacted, o.answered, o.perhaps = n.read()
	return o
}

func (s *side) read(ctx context.Context, id string) error {
	_, err := s.container.ReadItem(ctx, azcosmos.NewPartitionKeyString(id), id, nil)
	return err
}

func (s *side) upsert(ctx context.Context, id string) error {
	_, err := s.container.UpsertItem(ctx, azcosmos.NewPartitionKeyString(id), fmt.Appendf(nil, `{"id":%q,"pk":%q}`, id, id), nil)
	return err
}

func itemID(i int) string { return fmt.Sprintf("item-%d", i) }
