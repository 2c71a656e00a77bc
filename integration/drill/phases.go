package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// phase is a stretch of the run: with a fault, or with none.
type phase struct {
	name  string
	fault *fault
}

// phases are those of the package comment.
func (c *cast) phases() []phase {
	switch {
	case c.direct != nil:
		return []phase{{name: "load"}}
	case len(c.faults) == 0:
		return []phase{{name: "healthy"}}
	}
	list := []phase{{name: "healthy"}}
	for _, f := range c.faults {
		list = append(list, phase{f.String(), &f})
	}
	return append(list, phase{name: "recovered"})
}

// drill is a run.
type drill struct {
	*cast
	sides  []*side
	begun  time.Time
	events chronicle
	live   *live
	report report
	album  *album // nil: no picture is wanted
}

// newDrill sets the stages up, and the sides' clients and items. Close it.
func newDrill(ctx context.Context, c *cast, l *live) (*drill, error) {
	d := &drill{cast: c, live: l, events: chronicle{usable: c.usable(), multiWrite: c.multiWrite}}
	if c.picture != "" {
		d.album = newAlbum(c)
	}
	sides := []string{ours}
	if c.plain {
		sides = append(sides, plain)
	}
	database := fmt.Sprintf("azcosmos-ha-drill-%x", time.Now().UnixNano())
	for _, name := range sides {
		st, err := c.stage()
		if err != nil {
			return d, err
		}
		s := &side{name: name, database: database, cast: c, stage: st}
		d.sides = append(d.sides, s)
		if err := s.renew(); err != nil {
			return d, err
		}
		if err := s.furnish(ctx); err != nil {
			return d, err
		}
	}
	return d, nil
}

// close ends the sides, and deletes the database where it would stay.
func (d *drill) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var err error
	for i, s := range d.sides {
		if d.endpoint != "" && i == 0 && s.client != nil {
			if err = s.clear(ctx); err != nil {
				err = fmt.Errorf("delete the database %s: %w", s.database, err)
			}
		}
		s.close()
		s.stage.close()
	}
	return err
}

// run plays all phases. The error is why the drill could not go on; the report holds what has been played.
func (d *drill) run(ctx context.Context) error {
	d.begun = time.Now()
	d.events.follow(d.regions[0], 0)
	for i, p := range d.phases() {
		if p.fault != nil && d.fresh || i == 0 {
			if err := d.renew(ctx); err != nil {
				return err
			}
		}
		from := d.now()
		recorders := d.play(ctx, i, p)
		d.album.phase(p, from, d.now())
		for j, s := range d.sides {
			r, errs := d.events.tally(p.name, s.name, recorders[j].operations)
			d.report.add(r, errs)
			d.album.add(&d.events, s, recorders[j].operations)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted in phase %q", p.name)
		}
	}
	for _, s := range d.sides {
		if n, ok := s.stage.twice(); ok {
			d.report.repeated = append(d.report.repeated, count{s.name, n})
		}
	}
	return nil
}

// renew gives every side a new client.
func (d *drill) renew(ctx context.Context) error {
	for _, s := range d.sides {
		if err := s.renew(); err != nil {
			return err
		}
		if err := s.warm(ctx); err != nil {
			return err
		}
	}
	return nil
}

// play is one phase: the load of all sides, and what happens to the account meanwhile.
func (d *drill) play(ctx context.Context, index int, p phase) []*recorder {
	requests := script(d.settings, index)
	recorders := make([]*recorder, len(d.sides))
	for i := range d.sides {
		recorders[i] = &recorder{}
	}
	d.live.begin(p.name, recorders)
	defer d.live.end()
	var loads sync.WaitGroup
	for i, s := range d.sides {
		loads.Go(func() {
			recorders[i].play(ctx, requests, func(ctx context.Context, r request) operation { return s.do(ctx, r, d.begun) })
		})
	}
	if p.fault == nil {
		loads.Wait()
		return recorders
	}
	d.strike(*p.fault)
	ended := make(chan struct{})
	go func() {
		loads.Wait()
		close(ended)
	}()
	d.await(*p.fault, ended)
	d.heal()
	return recorders
}

// strike begins a fault on every stage. It counts from before the first of them has it.
func (d *drill) strike(f fault) {
	d.events.lose(f.region, d.now())
	for _, s := range d.sides {
		s.stage.strike(f, d.settings)
	}
}

// await returns when the load has ended. Meanwhile the service fails over, if it was the write region that was lost and there
// is another one.
func (d *drill) await(f fault, ended <-chan struct{}) {
	if f.region == d.regions[0] && !d.multiWrite && len(d.regions) > 1 && d.failoverAfter < d.phase {
		timer := time.NewTimer(d.failoverAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
			d.events.leave(d.now())
			for _, s := range d.sides {
				s.stage.failover(f, d.regions[1], d.settings)
			}
			d.events.follow(d.regions[1], d.now())
		case <-ended:
			return
		}
	}
	<-ended
}

// heal ends the fault on every stage. It counts until the last of them has no more of it.
func (d *drill) heal() {
	d.events.leave(d.now())
	for _, s := range d.sides {
		s.stage.heal(d.settings)
	}
	d.events.heal(d.now())
	d.events.follow(d.regions[0], d.now())
}

func (d *drill) now() time.Duration { return time.Since(d.begun) }
