package chaos

import (
	"context"
	"sync"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/integration/emulator"
	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
	"github.com/azcosmos-ha/azcosmos-ha/integration/simulation"
)

// arena is where rounds are played.
type arena struct {
	protocol gateway.Protocol
	emulator *emulator.Emulator // nil: the store in process
	patient  bool               // the middleware has a minute, in the end, to let go of what it holds
}

// service is what there is behind the gateway.
func (a arena) service() service {
	if a.emulator != nil {
		return service{batches: a.emulator.Capabilities.Batch}
	}
	return service{replicates: true, splits: true, batches: true, crossQuery: true}
}

// round is one world while it is played.
type round struct {
	arena
	world     simulation.World
	account   *account
	listening *gateway.Listening
	stage     *simulation.Stage
}

// play plays a world, its callers for length, and returns what happened. An error
// is one of the arena. When it returns, everything is closed, and no more
// goroutines are left than there were.
func (a arena) play(ctx context.Context, w simulation.World, length time.Duration, goroutines int) (*simulation.Run, error) {
	r := &round{arena: a, world: w}
	var err error
	if r.account, err = a.newAccount(ctx, w); err != nil {
		return nil, err
	}
	if r.listening, err = r.account.Listen(a.protocol); err != nil {
		return nil, err
	}
	if r.stage, err = r.open(ctx); err != nil {
		return nil, err
	}
	watch := watchStalls()
	r.live(ctx, length)
	r.recover(ctx)
	r.stage.Close()
	stall := watch()
	if err := r.listening.Close(); err != nil {
		return nil, err
	}
	r.account.closeIdle()
	settle(goroutines)
	run := r.stage.Evidence()
	run.Slack += stall
	// net/http keeps some closed HTTP/2 connections for the 90 s of an idle one, and all that they lead to.
	r.account.ResetLog()
	run.Writes = r.account.executions()
	run.Double = repeated(run.Writes)
	if run.Stored, err = r.account.stored(ctx); err != nil {
		return nil, err
	}
	return run, r.account.close(ctx)
}

// open makes the client.
func (r *round) open(ctx context.Context) (*simulation.Stage, error) {
	return r.world.Open(ctx, simulation.Sockets{
		Gateway: r.account.Gateway, Database: r.account.database, Key: r.account.key,
		Endpoint: func(region string) string {
			if region == "" {
				return r.listening.Endpoint()
			}
			return r.listening.RegionEndpoint(region)
		},
		Transport: r.listening.Client(), Slack: Slack, Patient: r.patient, Shared: r.protocol == gateway.TLSHTTP2,
	})
}

// live lets the callers call while the events happen, heals the world when the
// time is over, and returns when the last call has ended.
func (r *round) live(ctx context.Context, length time.Duration) {
	over, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	for i, calls := range r.world.Callers {
		group.Go(func() {
			c := simulation.NewCaller(i)
			for _, call := range calls {
				if !pause(over, time.Duration(call.Wait)) {
					return
				}
				r.stage.Call(ctx, c, call)
			}
		})
	}
	r.happen(ctx, length)
	stop()
	r.stage.Heal()
	group.Wait()
}

// happen makes the events happen for a time.
func (r *round) happen(ctx context.Context, length time.Duration) {
	began := time.Now()
	for _, s := range steps(r.world.Events) {
		if s.at > length {
			break
		}
		pause(ctx, s.at-time.Since(began))
		s.do(r.stage)
	}
	pause(ctx, length-time.Since(began))
}

// recover gives the middleware occasion to let every region back, which it does
// at its own rate, until it holds nothing.
func (r *round) recover(ctx context.Context) {
	c, began, patience := simulation.Healer(), time.Now(), 10*time.Second
	if r.patient {
		patience = time.Minute
	}
	pause(ctx, 200*time.Millisecond) // lags, probes and refreshes in flight end
	for n := 1; ; n++ {              // a round of reads lets one region of each partition back, when its probe is due
		r.stage.EveryKey(ctx, c, r.service().crossQuery)
		if n >= len(r.world.Account.Regions) && r.stage.Quiet() || time.Since(began) > patience {
			break
		}
		pause(ctx, 50*time.Millisecond)
	}
	r.stage.EveryKey(ctx, c, false)
}

// pause waits, and tells whether it was not interrupted.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
