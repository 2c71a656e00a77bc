package partition

import (
	"strconv"
	"testing"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

const uuidKey = `["0b6a5c0e-7d4e-4f0e-9a52-6a1f6a3a9c11"]`

var (
	version1 = Definition{Version: 1, Paths: 1}
	version2 = Definition{Version: 2, Paths: 1}
)

// BenchmarkEPK computes the EPK of a short string key from its header: decoding, encoding and hashing.
func BenchmarkEPK(b *testing.B) {
	for _, bc := range []struct {
		name   string
		def    Definition
		header string
	}{
		{"v2/pk1", version2, `["pk1"]`},
		{"v2/uuid", version2, uuidKey},
		{"v1/pk1", version1, `["pk1"]`},
		{"v1/uuid", version1, uuidKey},
		{"multihash/3", Definition{Kind: KindMultiHash, Version: 2, Paths: 3}, `["tenant","user","session"]`},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := FromHeader(bc.def, bc.header); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFind looks keys up that are spread over all ranges.
func BenchmarkFind(b *testing.B) {
	epks := make([]EPK, 4096)
	for i := range epks {
		epks[i], _ = Hash(version2, []request.Component{{Kind: request.KindNumber, Number: float64(i)}})
	}
	for _, n := range []int{1, 100, 10_000} {
		m := mustMap(b, "rid", evenRanges(b, n)...)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, ok := m.Find(epks[i%len(epks)]); !ok {
					b.Fatal("not found")
				}
				i++
			}
		})
	}
}

// BenchmarkResolve is what a request pays for its identity.
func BenchmarkResolve(b *testing.B) {
	m := mustMap(b, "rid", evenRanges(b, 10_000)...)
	learned := NewLearned(0)
	learned.Learn(resolve(nil, "", uuidKey), "1")
	for _, bc := range []struct {
		name         string
		m            *Map
		rangeID, key string
	}{
		{"epk", m, "", uuidKey},
		{"range", m, "17", ""},
		{"key", nil, "", uuidKey},
		{"container", nil, "", ""},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Resolve(1, link, bc.m, bc.rangeID, bc.key)
			}
		})
	}
	b.Run("key+learned", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			id, _ := Resolve(1, link, nil, "", uuidKey)
			learned.Lookup(id)
		}
	})
}
