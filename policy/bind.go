package policy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/telemetry"
)

const (
	// loadTimeout bounds one reading of a container's ranges.
	loadTimeout = 30 * time.Second
	// loadPause is the least time between two readings for one container.
	loadPause = 30 * time.Second
)

// Bind lets the Middleware read the partition key ranges of the containers that
// the client's account serves, through the client itself and in the background:
// once for each container that is used, and again when an answer shows that
// they have changed. What is unwell is then known by physical partition; without
// Bind it is known by logical partition key, and by what passes through.
//
// The client must have been made with options that this Middleware was applied
// to. Bind returns at once and no request ever waits for it. It must not be
// called from inside a policy. A later Bind for the same account replaces the
// earlier one; Bind(nil) does nothing.
func (m *Middleware) Bind(client *azcosmos.Client) {
	if client == nil {
		return
	}
	endpoint, err := url.Parse(client.Endpoint())
	if err != nil {
		return // azcosmos would not have made such a client
	}
	m.account(endpoint.Host).loader.client.Store(client)
}

// loader reads the ranges of containers through a bound client, one reading a
// container at a time.
type loader struct {
	account *account
	client  atomic.Pointer[azcosmos.Client] // nil until Bind
	tasks   tasks
}

// bound reports whether there is a client to read with.
func (l *loader) bound() bool { return l.client.Load() != nil }

// want asks for the ranges of a container that has none, without waiting. When
// those there were are out of date, the reading makes azcosmos refresh its own,
// process-wide, cache first.
func (l *loader) want(link string, now time.Time) {
	client := l.client.Load()
	if client == nil || link == "" || l.account.middleware.background.Err() != nil {
		return
	}
	force, ok := l.tasks.begin(link, now)
	if !ok {
		return
	}
	go func() {
		err := l.load(client, link, force)
		l.account.tellOutcome(telemetry.KindRanges, link, err)
		if l.tasks.end(link, err == nil) {
			l.account.partitions.forget(link)
		}
	}()
}

// load reads a container's definition and ranges, and hands them over.
func (l *loader) load(client *azcosmos.Client, link string, force bool) (err error) {
	defer func() {
		// Nobody could recover it on this goroutine: a panic of the transport
		// must not end the process for a reading that only helps.
		if r := recover(); r != nil {
			err = fmt.Errorf("panic while reading partition key ranges: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(l.account.middleware.background, loadTimeout)
	defer cancel()
	container, err := containerOf(client, link)
	if err != nil {
		return err
	}
	if err := l.loadDefinition(ctx, container, link); err != nil {
		return err
	}
	if force {
		if err := refreshRanges(ctx, container); err != nil {
			return err
		}
	}
	feed, err := container.ReadFeedRanges(ctx, nil)
	if err != nil {
		return err
	}
	ranges := make([]partition.Range, 0, len(feed))
	for _, f := range feed {
		r, err := partition.ParseRange("", f.MinInclusive, f.MaxExclusive)
		if err != nil {
			return err
		}
		ranges = append(ranges, r)
	}
	return l.account.partitions.learnFeed(link, ranges)
}

func (l *loader) loadDefinition(ctx context.Context, container *azcosmos.ContainerClient, link string) error {
	answer, err := container.Read(ctx, nil)
	if err != nil {
		return err
	}
	content, err := runtime.Payload(answer.RawResponse)
	if err != nil {
		return err
	}
	return l.account.partitions.learnContainer(link, content)
}

// refreshRanges makes azcosmos read the ranges anew: the change feed of a feed
// range that overlaps no other is answered without a document request, after
// one forced refresh of the cache.
func refreshRanges(ctx context.Context, container *azcosmos.ContainerClient) error {
	nowhere := azcosmos.FeedRange{MinInclusive: "FF", MaxExclusive: "FF"}
	_, err := container.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{FeedRange: &nowhere})
	if errors.Is(err, azcosmos.ErrFeedRangeUnresolved) {
		return nil
	}
	return err
}

// containerOf is the client's container with this link, "dbs/{d}/colls/{c}".
func containerOf(client *azcosmos.Client, link string) (*azcosmos.ContainerClient, error) {
	parts := strings.Split(link, "/")
	if len(parts) != 4 {
		return nil, fmt.Errorf("azcosmos-ha: not a container link: %q", link)
	}
	database, err := url.PathUnescape(parts[1])
	if err != nil {
		return nil, err
	}
	id, err := url.PathUnescape(parts[3])
	if err != nil {
		return nil, err
	}
	return client.NewContainer(database, id)
}
