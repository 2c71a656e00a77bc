package regions

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNormalize(t *testing.T) {
	for name, want := range map[string]string{
		"West US 3": "westus3", "west-us_3": "westus3", " WestUs3\t": "westus3", "east-us-2": "eastus2",
		"": "", " - _ ": "", "Ü-Nord": "ünord", "\u00a0A\n": "a",
	} {
		assert.Equal(t, want, Normalize(name), "%q", name)
		assert.True(t, sameName(want, name), "%q", name)
	}
	for _, no := range [][2]string{{"westus", "West US 3"}, {"westus3", "West US"}, {"", "a"}, {"a", ""}, {"ü", "u"}, {"eastus", "west us"}} {
		assert.False(t, sameName(no[0], no[1]), "%q", no)
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("West US 3", "west-us_3")
	f.Add("\xff", "�")
	f.Add("İ", "i")
	f.Add("ǅ", "ǆ")
	f.Fuzz(func(t *testing.T, a, b string) {
		n := Normalize(a)
		assert.Equal(t, n, Normalize(n), "idempotent")
		assert.True(t, sameName(n, a))
		assert.Equal(t, n == Normalize(b), sameName(n, b), "sameName is Normalize without the string")
	})
}

func TestNewNames(t *testing.T) {
	given := []string{"West US 3", "", "west-us-3", " \t", "East US", "EASTUS"}
	names := NewNames(given...)
	assert.Equal(t, Names{"West US 3", "East US"}, names, "as given, the first spelling")
	given[0] = "changed"
	assert.Equal(t, "West US 3", names[0], "a copy")
	assert.Nil(t, NewNames())
	assert.Nil(t, NewNames("", "-"))
	assert.True(t, names.Has("west us 3"))
	assert.False(t, names.Has("West US"))
	assert.False(t, names.Has(""))
}

func TestSet(t *testing.T) {
	var s Set
	assert.True(t, s.Empty())
	s = s.With(0).With(63).With(5).With(5).With(None)
	assert.Equal(t, 3, s.Len())
	for i := range Index(MaxRegions) {
		assert.Equal(t, i == 0 || i == 5 || i == 63, s.Has(i), i)
	}
	for _, none := range []Index{64, 100, None} {
		assert.False(t, s.Has(none))
		assert.Equal(t, s, s.With(none))
		assert.Equal(t, s, s.Without(none))
	}
	assert.Equal(t, 2, s.Without(5).Len())
	assert.False(t, s.Without(5).Has(5))
	assert.False(t, s.Empty())
}

func TestList(t *testing.T) {
	var l List
	assert.Equal(t, None, l.First())
	assert.True(t, l.Append(7))
	assert.False(t, l.Append(7), "a duplicate")
	assert.False(t, l.Append(64), "no region")
	assert.False(t, l.Append(None), "no region")
	assert.True(t, l.Append(0))
	assert.Equal(t, MakeList(7, None, 0, 7), l)
	assert.Equal(t, 2, l.Len())
	assert.Equal(t, Index(7), l.First())
	assert.Equal(t, []Index{None, 7, 0, None, None}, []Index{l.At(-1), l.At(0), l.At(1), l.At(2), l.At(64)})
	assert.True(t, l.Has(0))
	assert.False(t, l.Has(1))
	assert.False(t, l.Has(None))
	assert.Equal(t, Set(1<<7|1), l.Set())
	assert.Equal(t, []Index{7, 0}, slices.Collect(l.All()))
	for r := range l.All() {
		assert.Equal(t, Index(7), r)
		break // stopping early is fine
	}
}

func TestList_Full(t *testing.T) {
	var l List
	for i := range Index(MaxRegions) {
		assert.True(t, l.Append(i))
	}
	for i := range Index(255) {
		assert.False(t, l.Append(i))
	}
	assert.Equal(t, MaxRegions, l.Len())
	assert.Equal(t, Index(63), l.At(63))
	var same, turned List
	same.fill(&l, 0)
	assert.Equal(t, l, same)
	turned.fillBehind(&l, 1)
	assert.Equal(t, Index(1), turned.First())
	assert.Equal(t, Index(0), turned.At(63))
	assert.Equal(t, l.Set(), turned.Set())
	assert.Equal(t, MaxRegions, l.Set().Len())
}
