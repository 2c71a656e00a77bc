package partition

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func keyID(i int) ID { return resolve(nil, "", fmt.Sprintf(`["key-%d"]`, i)) }

func TestLearned(t *testing.T) {
	l := NewLearned(0)
	a, b := keyID(1), keyID(2)
	_, ok := l.Lookup(a)
	assert.False(t, ok)
	assert.False(t, l.Learn(a, "3"), "new, not moved")
	assert.False(t, l.Learn(a, "3"), "the same again")
	assert.False(t, l.Learn(b, "3"))
	inA, ok := l.Lookup(a)
	require.True(t, ok)
	inB, ok := l.Lookup(b)
	require.True(t, ok)
	assert.Equal(t, inA, inB, "two keys of one range share their records")
	assert.Equal(t, resolve(nil, "3", ""), inA, "with the requests that name the range")
	assert.True(t, l.Learn(a, "4"), "moved")
	inA, _ = l.Lookup(a)
	assert.Equal(t, resolve(nil, "4", ""), inA)
	assert.False(t, l.Learn(b, ""), "an answer without the header says nothing")
	inB, _ = l.Lookup(b)
	assert.Equal(t, resolve(nil, "3", ""), inB)
}

func TestLearnedKeepsContainersApart(t *testing.T) {
	l := NewLearned(100)
	here, _ := Resolve(1, link, nil, "", `["a"]`)
	there, _ := Resolve(2, link, nil, "", `["a"]`)
	l.Learn(here, "0")
	_, ok := l.Lookup(there)
	assert.False(t, ok)
	l.Learn(there, "0")
	x, _ := l.Lookup(here)
	y, _ := l.Lookup(there)
	assert.NotEqual(t, x, y, "range 0 of another container is another range")
}

func TestLearnedIsBounded(t *testing.T) {
	const size = 700
	l := NewLearned(size)
	require.EqualValues(t, 128, unsafe.Sizeof(bucket{}), "two cache lines")
	require.Len(t, l.buckets, 128, "100 buckets, to a power of two")
	for i := range 100 * size {
		l.Learn(keyID(i), strconv.Itoa(i%10))
	}
	kept := 0
	for i := range 100 * size {
		id, ok := l.Lookup(keyID(i))
		if ok {
			kept++
			assert.Equal(t, resolve(nil, strconv.Itoa(i%10), ""), id)
		}
	}
	assert.Equal(t, 128*ways, kept)
	for keys, buckets := range map[int]int{-1: 1024, 0: 1024, 1: 1, 7: 1, 8: 2, 1 << 40: 1 << 20} {
		assert.Len(t, NewLearned(keys).buckets, buckets, keys)
	}
}

func TestLearnedKeepsWhatIsAskedFor(t *testing.T) {
	l := NewLearned(ways)
	hot := keyID(0)
	l.Learn(hot, "1")
	for i := range 1000 {
		_, ok := l.Lookup(hot)
		require.True(t, ok, "keys that come once do not wash out the one that comes always: %d", i)
		l.Learn(keyID(1+i), "2")
	}
}

func TestLearnedSweepsWhenAllAreAskedFor(t *testing.T) {
	l := NewLearned(ways)
	for i := range ways {
		l.Learn(keyID(i), "1")
	}
	ask := func() (kept int) {
		for i := range 100 {
			if _, ok := l.Lookup(keyID(i)); ok {
				kept++
			}
		}
		return kept
	}
	require.Equal(t, ways, ask())
	for i := ways; i < 100; i++ {
		l.Learn(keyID(i), "2")
		_, ok := l.Lookup(keyID(i))
		require.True(t, ok, "a new key finds a place")
		require.Equal(t, ways, ask())
	}
}

func TestNilLearnedKnowsNothing(t *testing.T) {
	var l *Learned
	assert.False(t, l.Learn(keyID(1), "1"))
	_, ok := l.Lookup(keyID(1))
	assert.False(t, ok)
}

// TestLearnedConcurrently has writers that fight over one bucket while readers check that nobody is ever told the range of
// another key: a key's range id is made from the key.
func TestLearnedConcurrently(t *testing.T) {
	l := NewLearned(ways)
	const keys = 20
	var ids, old, later [keys]ID
	for i := range keys {
		ids[i] = keyID(i)
		old[i], later[i] = resolve(nil, fmt.Sprint("old ", i), ""), resolve(nil, fmt.Sprint("new ", i), "")
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for range 20_000 {
				i := r.IntN(keys)
				switch r.IntN(4) {
				case 0:
					l.Learn(ids[i], fmt.Sprint("old ", i))
				case 1:
					l.Learn(ids[i], fmt.Sprint("new ", i))
				default:
					if id, ok := l.Lookup(ids[i]); ok && id != old[i] && id != later[i] {
						t.Errorf("key %d was told of another key's range", i)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
