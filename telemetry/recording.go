package telemetry

import "time"

// callRecord is one call of a record while its operation is in flight. A nil
// one keeps nothing.
type callRecord struct {
	operation *Operation
	call      *Call // guarded by the operation's mutex
}

// begin appends a call, if the record has room for it.
func (o *Operation) begin(s OperationStart, at time.Time) *callRecord {
	if o == nil {
		return nil
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if len(o.calls) >= maxCalls {
		o.dropped++
		return nil
	}
	c := &Call{Name: s.Name, Database: s.Database, Container: s.Container, Write: s.Write, Metadata: s.Metadata, Start: at}
	o.calls = append(o.calls, c)
	return &callRecord{o, c}
}

func (r *callRecord) change(f func(*Call)) {
	if r == nil {
		return
	}
	r.operation.mutex.Lock()
	defer r.operation.mutex.Unlock()
	f(r.call)
}

// contact appends an attempt and returns its place, -1 if there is no room.
func (r *callRecord) contact(a Attempt) (place int) {
	place = -1
	r.change(func(c *Call) {
		if len(c.Contacts) >= maxContacts {
			c.MoreContacts++
			return
		}
		place = len(c.Contacts)
		c.Contacts = append(c.Contacts, Contact{Region: a.Region, Reason: a.Reason, Start: a.At})
	})
	return place
}

// contacted tells how the attempt at a place ended.
func (r *callRecord) contacted(place int, result Result) {
	r.change(func(c *Call) {
		if place < 0 {
			return
		}
		t := &c.Contacts[place]
		t.Done, t.Duration = true, result.At.Sub(t.Start)
		t.Status, t.SubStatus, t.RequestCharge = result.Status, result.SubStatus, result.Charge
		if result.Status == 0 {
			t.Error = boundedClass(result.Class)
		}
	})
}

func (r *callRecord) decided(d Decision) {
	r.change(func(c *Call) {
		if len(c.Decisions) < maxContacts {
			c.Decisions = append(c.Decisions, d)
		}
	})
}

func (r *callRecord) end(result Result, answered string, extra float64) {
	r.change(func(c *Call) {
		c.Done, c.Duration = true, result.At.Sub(c.Start)
		c.Answered, c.Status, c.SubStatus = answered, result.Status, result.SubStatus
		c.RequestCharge, c.ExtraCharge = result.Charge, extra
		if result.Status == 0 {
			c.Error = boundedClass(result.Class)
		}
	})
}
