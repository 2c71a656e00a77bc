package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/azcosmos-ha/azcosmos-ha/breaker"
	"github.com/azcosmos-ha/azcosmos-ha/hedge"
	"github.com/azcosmos-ha/azcosmos-ha/policy"
)

// accountKey is the well-known key of the emulators: the gateway does not look at it.
const accountKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// The container that all requests are about; its partition key is /pk.
const (
	databaseID  = "db"
	containerID = "items"
)

// setting is what a contender has to work with.
type setting struct {
	endpoint  string
	preferred []string
	transport http.RoundTripper
	threshold time.Duration   // of hedging, for all who hedge
	breaker   breaker.Options // of ours
	virtual   bool            // in a synctest bubble; see hedgedhttp.go
	direct    bool            // azcore uses the transport without an http.Client, which would be all that is seen of cheap requests
}

// app is an application with one contender in it. The calls are safe for concurrent use.
type app struct {
	read   func(ctx context.Context, pk, id string) error
	upsert func(ctx context.Context, pk string, item []byte) error
	query  func(ctx context.Context, pk string) error
	close  func()
}

// contender is one of those who are compared.
type contender struct {
	name  string
	build func(setting) (*app, error)
}

// The contenders. What each is made of is in doc.go.
var (
	plain     = contender{"plain azcosmos", buildPlain}
	ours      = contender{"azcosmos-ha", func(s setting) (*app, error) { return buildOurs(s, hedge.Options{Threshold: s.threshold}) }}
	oursOff   = contender{"azcosmos-ha, hedging off", func(s setting) (*app, error) { return buildOurs(s, hedge.Options{Disabled: true}) }}
	failsafe1 = contender{"failsafe-go", buildFailsafe}
	failsafeN = contender{"failsafe-go, a client per region", buildFailsafePerRegion}
	hedged    = contender{"hedgedhttp", buildHedged}
)

// transporter sends as azcore wants it, without more.
type transporter struct{ http.RoundTripper }

// Do sends a request.
func (t transporter) Do(r *http.Request) (*http.Response, error) { return t.RoundTrip(r) }

// sender is what azcore is given to send with.
func (s setting) sender() azpolicy.Transporter {
	if s.direct {
		return transporter{s.transport}
	}
	return &http.Client{Transport: s.transport}
}

// client makes an azcosmos client; change, which may be nil, has the last word on its options.
func (s setting) client(change func(*azcosmos.ClientOptions)) (*azcosmos.Client, *azcosmos.ContainerClient, error) {
	o := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s.sender()}, PreferredRegions: s.preferred}
	if change != nil {
		change(o)
	}
	credential, err := azcosmos.NewKeyCredential(accountKey)
	if err != nil {
		return nil, nil, err
	}
	client, err := azcosmos.NewClientWithKey(s.endpoint, credential, o)
	if err != nil {
		return nil, nil, err
	}
	container, err := client.NewContainer(databaseID, containerID)
	return client, container, err
}

// calls is an application that calls azcosmos and nothing else.
func calls(c *azcosmos.ContainerClient, end func()) *app {
	return &app{
		read: func(ctx context.Context, pk, id string) error {
			_, err := c.ReadItem(ctx, azcosmos.NewPartitionKeyString(pk), id, nil)
			return err
		},
		upsert: func(ctx context.Context, pk string, item []byte) error {
			_, err := c.UpsertItem(ctx, azcosmos.NewPartitionKeyString(pk), item, nil)
			return err
		},
		query: func(ctx context.Context, pk string) error {
			_, err := c.NewQueryItemsPager(everything, azcosmos.NewPartitionKeyString(pk), nil).NextPage(ctx)
			return err
		},
		close: end,
	}
}

const everything = "SELECT * FROM c"

func buildPlain(s setting) (*app, error) {
	client, container, err := s.client(nil)
	if err != nil {
		return nil, err
	}
	return calls(container, client.Close), nil
}

func buildOurs(s setting, h hedge.Options) (*app, error) {
	ha, err := policy.New(policy.Options{Hedge: h, Breaker: s.breaker})
	if err != nil {
		return nil, err
	}
	client, container, err := s.client(ha.Apply)
	if err != nil {
		return nil, err
	}
	if !s.direct { // the transports of the cost tables know no containers
		ha.Bind(client)
	}
	return calls(container, func() {
		ha.Close()
		client.Close()
	}), nil
}

// itemOf is an item of a partition.
func itemOf(pk, id string) []byte { return fmt.Appendf(nil, `{"id":%q,"pk":%q,"n":1}`, id, pk) }
