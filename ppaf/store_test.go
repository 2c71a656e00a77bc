package ppaf

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/internal/partition"
	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// three is an account of three regions, 0 the primary, with the flag set.
func three(flag bool) Account {
	return Account{Primary: 0, Readable: regions.MakeList(0, 1, 2), Flag: &flag}
}

func newStore() *Store {
	s := NewStore(Options{})
	s.Apply(three(true), epoch)
	return s
}

func confirm(s *Store, k Key, r regions.Index) (Change, bool) {
	return s.Observe(k, r, s.Begin(r), Confirmed, epoch)
}

func TestKeyIsAPartition(t *testing.T) {
	assert.Equal(t, Key{3, 4}, Key(partition.ID{Container: 3, Range: 4}))
}

func TestRecordIsSmallAndHoldsNoPointer(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(Key{})+unsafe.Sizeof(record{}), uintptr(120))
	for f := range reflect.TypeFor[record]().Fields() {
		kind := f.Type.Kind()
		if kind == reflect.Array {
			kind = f.Type.Elem().Kind()
		}
		assert.True(t, kind >= reflect.Uint && kind <= reflect.Uint64, f.Name)
	}
}

func TestHealthyWritesCostNothing(t *testing.T) {
	s := newStore()
	before := s.begun.Load()
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if !s.On() || !s.Empty() {
			t.Error("something is recorded")
		}
		token := s.Begin(0)
		s.Observe(Key{1, 1}, 0, token, Confirmed, epoch)
		s.Observe(Key{1, 1}, 0, token, Other, epoch)
	}))
	assert.Equal(t, before, s.begun.Load(), "nothing shared is written")
	assert.Empty(t, s.gone[place(Key{1, 1})])
}

func TestZeroStoreOfAnUnknownAccount(t *testing.T) {
	s := NewStore(Options{Mode: On})
	assert.False(t, s.On())
	_, changed := confirm(s, Key{1, 1}, 1)
	assert.False(t, changed)
	assert.True(t, s.Empty())
	assert.Equal(t, Start{regions.None, regions.None}, s.Start(Key{1, 1}, epoch))
	assert.Equal(t, regions.None, s.Override(Key{1, 1}))
	assert.Equal(t, regions.None, s.Hub(Key{1, 1}))
}

func TestLimit(t *testing.T) {
	s := NewStore(Options{Timeouts: 1})
	s.Apply(three(true), epoch)
	for i := range uint64(maxRecords) {
		confirm(s, Key{1, i}, 1)
	}
	require.Equal(t, maxRecords, s.Len())
	_, changed := confirm(s, Key{2, 1}, 1)
	assert.False(t, changed, "what is not recorded has not changed")
	assert.Equal(t, uint64(1), s.Dropped())
	_, changed = s.Observe(Key{2, 1}, 0, s.Begin(0), TimedOut, epoch)
	assert.False(t, changed)

	c, changed := confirm(s, Key{1, 5}, 2)
	assert.True(t, changed, "known partitions go on")
	assert.Equal(t, "moved", c.Kind())
	_, changed = confirm(s, Key{1, 6}, 0)
	assert.True(t, changed)
	_, changed = confirm(s, Key{2, 1}, 1)
	assert.True(t, changed, "a place that is free is given away")
}

// Partitions that are never written again leave no timeouts behind for ever.
func TestLapsedTimeoutsAreCollected(t *testing.T) {
	s := newStore()
	for i := range uint64(10_000) {
		s.Observe(Key{1, i}, 0, s.Begin(0), TimedOut, epoch)
	}
	require.Equal(t, 10_000, s.Len())
	later := epoch.Add(time.Hour)
	for range 256 {
		s.Observe(Key{2, 1}, 0, s.Begin(0), TimedOut, later)
		s.Observe(Key{2, 1}, 0, s.Begin(0), Confirmed, later)
	}
	assert.True(t, s.Empty())
}

// Another request may have looked at the clock later, and been quicker.
func TestTimeoutsInTheWrongOrder(t *testing.T) {
	s := newStore()
	for i := range 10 {
		s.Observe(Key{1, 1}, 0, s.Begin(0), TimedOut, epoch.Add(-time.Duration(i)*time.Second))
	}
	assert.Equal(t, regions.Index(0), s.Start(Key{1, 1}, epoch).Slow)
}

// Between the arrival of a topology and the end of its sweep a record may still name the new primary.
func TestLookupsSeeTheNewestAccount(t *testing.T) {
	s := newStore()
	confirm(s, Key{1, 1}, 1)
	moved := *s.current.Load()
	moved.Primary = 1
	s.current.Store(&moved)
	assert.Equal(t, regions.None, s.Override(Key{1, 1}))
	assert.Equal(t, regions.None, s.Hub(Key{1, 1}))
	assert.Equal(t, Start{regions.None, regions.None}, s.Start(Key{1, 1}, epoch))
}

func TestAllStopsWhenAsked(t *testing.T) {
	s := newStore()
	confirm(s, Key{1, 1}, 1)
	confirm(s, Key{1, 2}, 1)
	n := 0
	for range s.All(epoch) {
		n++
		break
	}
	assert.Equal(t, 1, n)
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for at := range n {
			q := append(append(append([]int{}, p[:at]...), n-1), p[at:]...)
			all = append(all, q)
		}
	}
	return all
}

// Whatever the order in which confirmations come in, the one whose attempt began last stands, the primary's among them.
func TestConfirmationsConverge(t *testing.T) {
	for _, asked := range [][]regions.Index{
		{1, 2, 1, 2, 1}, {1, 0, 2, 0, 1}, {0, 1, 0, 2, 0}, {2, 1, 1, 0, 0}, {1, 2, 0, 0, 2},
	} {
		for _, order := range permutations(len(asked)) {
			s := newStore()
			confirm(s, Key{1, 1}, 2) // an override to begin with
			confirm(s, Key{9, 9}, 1) // and another, so that the primary's confirmations are looked at
			tokens := make([]Token, len(asked))
			for i, r := range asked {
				tokens[i] = s.Begin(r)
			}
			for _, i := range order {
				s.Observe(Key{1, 1}, asked[i], tokens[i], Confirmed, epoch)
			}
			want := asked[len(asked)-1]
			if want == 0 {
				want = regions.None
			}
			require.Equal(t, want, s.Override(Key{1, 1}), "%v in the order %v", asked, order)
			checkLaws(t, s, epoch)
		}
	}
}

// Attempts that share a token asked the primary after the attempt that has it for its own.
func TestTokensThatAreShared(t *testing.T) {
	s := newStore()
	elsewhere := s.Begin(1)
	shared := s.Begin(0)
	require.Equal(t, elsewhere, shared)
	s.Observe(Key{1, 1}, 1, elsewhere, Confirmed, epoch)
	c, changed := s.Observe(Key{1, 1}, 0, shared, Confirmed, epoch)
	assert.True(t, changed)
	assert.Equal(t, Change{Key{1, 1}, 1, regions.None, ByConfirmation}, c)
	_, changed = s.Observe(Key{1, 1}, 1, elsewhere, Confirmed, epoch)
	assert.False(t, changed)
}

// service is a partition's write region, as the service has it.
type service struct{ hub atomic.Uint32 }

func (v *service) answer(r regions.Index) Answer {
	if uint32(r) == v.hub.Load() {
		return Confirmed
	}
	return Refused
}

// write walks as the policy does, but for the pauses. It reports whether the write was taken, and how many attempts it took.
func (v *service) write(s *Store, k Key) (taken bool, attempts int) {
	order := s.Start(k, epoch).Candidates(0, regions.MakeList(0, 1, 2), 0)
	r := order.First()
	token := s.Begin(r)
	search := NewSearch(order, token, time.Time{})
	for {
		attempts++
		a := v.answer(r)
		s.Observe(k, r, token, a, epoch)
		step := search.Next(r, a, epoch)
		if step.Exhausted {
			s.Exhausted(k, search.Began())
		}
		switch step.Action {
		case Stop:
			return a == Confirmed, attempts
		case Ask:
			r = step.Region
		case Again:
			order = s.Start(k, epoch).Candidates(0, order, 0)
			r = order.First()
		}
		token = s.Begin(r)
		if step.Action == Again {
			search.Round(order, token)
		}
	}
}

// Many writers on one partition that moves twice: no write is lost, and they all end up at the same place.
func TestWritersConverge(t *testing.T) {
	for _, last := range []regions.Index{2, 0} {
		s, v, k := newStore(), &service{}, Key{1, 1}
		confirm(s, Key{7, 7}, 2)
		var wg, first sync.WaitGroup
		first.Add(64)
		moved := make(chan struct{})
		v.hub.Store(1)
		for range 64 {
			wg.Go(func() {
				for range 50 {
					v.write(s, k)
				}
				first.Done()
				for stop := false; !stop; {
					select {
					case <-moved:
						stop = true
					default:
					}
					taken, attempts := v.write(s, k)
					assert.True(t, taken)
					assert.LessOrEqual(t, attempts, 9)
				}
				taken, _ := v.write(s, k)
				assert.True(t, taken)
			})
		}
		first.Wait()
		assert.Equal(t, regions.Index(1), s.Override(k))
		v.hub.Store(uint32(last))
		close(moved)
		wg.Wait()
		want := last
		if last == 0 {
			want = regions.None
		}
		assert.Equal(t, want, s.Override(k))
		_, attempts := v.write(s, k)
		assert.Equal(t, 1, attempts, "the next one goes straight")
		checkLaws(t, s, epoch)
	}
}

// Topologies that change while writes confirm leave no override to the primary or to a region that left.
func TestTopologyChangesUnderWrites(t *testing.T) {
	s := newStore()
	yes := true
	other := Account{Primary: 1, Readable: regions.MakeList(1, 2), Flag: &yes}
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			for i := range uint64(2000) {
				confirm(s, Key{1, (g + i) % 50}, regions.Index(i%3))
				s.RememberHub(Key{1, i % 50}, regions.Index(i%4), s.Begin(3))
				s.Observe(Key{1, i % 50}, regions.Index(i%3), s.Begin(0), TimedOut, epoch)
			}
		})
	}
	for i := range 50 {
		if i%2 == 0 {
			s.Apply(other, epoch)
		} else {
			s.Apply(three(i%5 != 0), epoch)
		}
	}
	wg.Wait()
	s.Apply(other, epoch)
	checkLaws(t, s, epoch)
	s.Apply(three(false), epoch)
	assert.True(t, s.Empty())
}
