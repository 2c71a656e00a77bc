package ppaf

import (
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/internal/shard"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// Key is a partition: a partition.ID converts to it. Nothing is ever recorded for the zero Key, which is no partition.
type Key struct {
	Container uint64
	Range     uint64
}

// Hash returns the hash the record is found by.
func (k Key) Hash() uint64 { return shard.Mix(k.Container, k.Range) }

// Token orders attempts by when they began; see [Store.Begin].
type Token uint64

// maxRecords bounds the memory of a store to about 14 MB. Writes to partitions beyond it are not lost, they only go on paying for
// their way through the candidates.
const maxRecords = 100_000

// Store holds the records of one account's partitions. Make one with [NewStore]. All methods are safe for concurrent use;
// none blocks for longer than a record takes.
type Store struct {
	options Options
	limits  limits
	records *shard.Map[Key, record]
	begun   atomic.Uint64 // the last token given to one attempt alone
	current atomic.Pointer[account]
	applyMu sync.Mutex // one Apply at a time

	// gone keeps the tokens of records that went. Each place belongs to one shard of records, whose lock guards it.
	gone [places]grave
}

const (
	placeShift = 54 // of the hash: ten bits, of which the first eight choose the shard
	places     = 1 << (64 - placeShift)
)

// grave is what is left of a record: no attempt that began before the token can bring it back.
type grave struct {
	key   Key
	floor Token
}

// account is what Apply was told last. It is immutable.
type account struct {
	Account
	on     bool // the flag and the options
	active bool // on, and the account is one with a write region that can move
	base   time.Time
	epoch  Token // attempts that began before it know nothing of this account
}

// NewStore returns an empty store that does nothing until [Store.Apply]. Options that Validate refuses are brought into range.
func NewStore(o Options) *Store {
	s := &Store{options: o, limits: o.limits(), records: shard.New[Key, record](maxRecords)}
	s.current.Store(&account{Account: Account{Primary: regions.None}})
	return s
}

// On reports whether failover applies to this account now, with one atomic load. While it does not, the other methods
// do nothing.
func (s *Store) On() bool { return s.current.Load().active }

// Empty reports whether nothing is recorded, so that every partition is at the primary, with one atomic load.
func (s *Store) Empty() bool { return s.records.Empty() }

// Len returns the number of records.
func (s *Store) Len() int { return s.records.Len() }

// Dropped returns how many records were not made because there were too many (100,000). It only grows.
func (s *Store) Dropped() uint64 { return s.records.Refused() }

// Start returns where the partition's writes start.
func (s *Store) Start(k Key, now time.Time) Start {
	none := Start{Override: regions.None, Slow: regions.None}
	a, r, ok := s.load(k)
	if !ok {
		return none
	}
	r.lapse(a.clock(now), s.limits)
	return Start{Override: r.override.index(), Slow: r.slow.index()}
}

// Override returns the partition's override, for the rules K, O, U and W of package regions; None if there is none.
func (s *Store) Override(k Key) regions.Index {
	_, r, _ := s.load(k)
	return r.override.index()
}

// Hub returns where the partition's writes are, as far as reads and writes have found out; None: at the primary.
func (s *Store) Hub(k Key) regions.Index {
	_, r, _ := s.load(k)
	if r.hub != 0 {
		return r.hub.index()
	}
	return r.override.index()
}

// load returns a copy of the record as the account is now: a sweep may not have reached it yet.
func (s *Store) load(k Key) (a *account, r record, ok bool) {
	if s.records.Empty() {
		return nil, r, false
	}
	a = s.current.Load()
	if !a.active {
		return a, r, false
	}
	if r, ok = s.records.Load(k); ok {
		r.keep(&a.Account)
	}
	return a, r, ok
}

// Begin returns the token of an attempt that is about to be sent to region r. The healthy case (the primary is asked, nothing is
// recorded) reads only; the attempts of all others are numbered. A token that was merely read began after the
// attempt that has that number.
func (s *Store) Begin(r regions.Index) Token {
	if s.records.Empty() && r == s.current.Load().Primary {
		return Token(s.begun.Load())
	}
	return Token(s.begun.Add(1))
}

// Observe takes what an attempt of a write in region r said; t is the token it began with. It returns the change that
// this made, if any.
func (s *Store) Observe(k Key, r regions.Index, t Token, answer Answer, now time.Time) (Change, bool) {
	switch answer {
	case Confirmed:
		return s.confirmed(k, r, t)
	case TimedOut:
		return s.timedOut(k, r, t, now)
	case Refused, Unavailable, Other:
		if !s.records.Empty() {
			s.change(k, t, func(rec *record, _ *account) { rec.answered(r) })
		}
	default: // nobody answered
	}
	return Change{}, false
}

// Exhausted takes that every candidate of a round refused the write; began is the token of its first attempt. The record goes,
// unless a region confirmed a write that began later.
func (s *Store) Exhausted(k Key, began Token) (Change, bool) {
	return s.changed(k, began, ByExhaustion, func(rec *record, _ *account) {
		if rec.at <= began {
			*rec = record{}
			s.bury(k, began)
		}
	})
}

// RememberHub takes that region r answered a read under the hub header with anything but 403/3; t is the token the attempt began
// with. With None it forgets the hub. What a write that began later has found stands.
func (s *Store) RememberHub(k Key, r regions.Index, t Token) {
	s.change(k, t, func(rec *record, a *account) {
		switch {
		case t < max(rec.at, s.floor(k)):
		case rec.override.is(r), rec.override == 0 && r == a.Primary, !a.regions().Has(r):
			rec.hub = 0 // it is known anyway, or it is no region
		default:
			rec.hub = some(r)
		}
	})
}

func (s *Store) confirmed(k Key, r regions.Index, t Token) (Change, bool) {
	if s.records.Empty() && r == s.current.Load().Primary {
		return Change{}, false
	}
	return s.changed(k, t, ByConfirmation, func(rec *record, a *account) {
		switch {
		case r == a.Primary && t >= rec.at:
			if rec.override != 0 || s.gone[place(k)].key == k {
				s.bury(k, t)
			}
			*rec = record{}
		case a.admits(r):
			rec.confirmed(r, t, s.floor(k))
		default:
			rec.answered(r)
		}
	})
}

func (s *Store) timedOut(k Key, r regions.Index, t Token, now time.Time) (Change, bool) {
	tripped := false
	stored := s.change(k, t, func(rec *record, a *account) {
		if t >= max(rec.at, s.floor(k)) && a.regions().Has(r) {
			tripped = rec.timedOut(r, a.clock(now), s.limits)
		}
	})
	// Partitions that are never written again leave their timeouts behind. Whoever adds one looks through a shard.
	s.records.DeleteNext(func(_ Key, rec *record) bool {
		rec.lapse(s.current.Load().clock(now), s.limits)
		return rec.blank()
	})
	if !tripped || !stored {
		return Change{}, false
	}
	return Change{Key: k, From: r, To: regions.None, Cause: ByTimeouts}, true
}

// changed is change for what can change the override.
func (s *Store) changed(k Key, t Token, cause Cause, f func(*record, *account)) (Change, bool) {
	from, to := maybe(0), maybe(0)
	stored := s.change(k, t, func(rec *record, a *account) {
		from = rec.override
		f(rec, a)
		to = rec.override
	})
	if from == to || (to != 0 && !stored) {
		return Change{}, false
	}
	return Change{Key: k, From: from.index(), To: to.index(), Cause: cause}, true
}

// change lets f change a record, or a blank one if there is none, under the lock of its shard, and drops it when it is
// blank afterwards. The account is looked up under the lock: either f sees the newest, or the sweep of the newest sees
// what f did. It does nothing for an attempt that began before the last edge of the flag, or whose partition is not known.
func (s *Store) change(k Key, t Token, f func(*record, *account)) (stored bool) {
	if k == (Key{}) {
		return false
	}
	return s.records.Update(k, func(rec *record) bool {
		if a := s.current.Load(); a.active && t >= a.epoch {
			f(rec, a)
		}
		return !rec.blank()
	})
}

func place(k Key) uint64 { return k.Hash() >> placeShift }

// floor returns the token of the partition's record that went, if it is still known. The caller holds the shard's lock.
func (s *Store) floor(k Key) Token {
	if g := &s.gone[place(k)]; g.key == k {
		return g.floor
	}
	return 0
}

// bury keeps the token of a record that goes. The caller holds the shard's lock.
func (s *Store) bury(k Key, t Token) {
	s.gone[place(k)] = grave{key: k, floor: max(t, s.floor(k))}
}

// clock returns a time as a record keeps it. Both times carry the monotonic clock if they come from time.Now, so setting the wall
// clock goes unnoticed.
func (a *account) clock(now time.Time) uint32 { return uint32(now.Sub(a.base).Milliseconds()) }

// Entry is one partition's record, for the state page.
type Entry struct {
	Key      Key
	Start    Start
	Hub      regions.Index // found by a read and other than the override; None: not known
	Timeouts int           // remembered, in all regions
}

// All yields the records in no order, as they are at now.
func (s *Store) All(now time.Time) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for k, rec := range s.records.All() {
			rec.lapse(s.current.Load().clock(now), s.limits)
			e := Entry{
				Key:      k,
				Start:    Start{Override: rec.override.index(), Slow: rec.slow.index()},
				Hub:      rec.hub.index(),
				Timeouts: int(rec.n),
			}
			if !rec.blank() && !yield(e) {
				return
			}
		}
	}
}
