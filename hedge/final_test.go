package hedge

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFinalRows is the outcome table of the walk, row by row: what its column for reads returns of its own accord is final;
// what it returns raw, or follows with another region, is not.
func TestFinalRows(t *testing.T) {
	tests := []struct {
		row     string
		answers [][2]int
		want    bool
	}{
		{"< 400", [][2]int{{100, 0}, {200, 0}, {201, 0}, {204, 0}, {206, 0}, {207, 0}, {302, 0}, {399, 0}}, true},
		{"304", [][2]int{{304, 0}, {304, 1002}}, true},
		{"400, 401, 405, 409, 412, 413, 422", [][2]int{{400, 0}, {400, 1001}, {401, 0}, {405, 0}, {409, 0}, {412, 0}, {413, 0}, {422, 0}}, true},
		{"404/0", [][2]int{{404, 0}, {404, 1003}, {404, 1008}, {404, 1013}}, true},
		{"403/3 write forbidden", [][2]int{{403, 3}}, false},
		{"403/1008 account not in region", [][2]int{{403, 1008}}, false},
		{"403 other", [][2]int{{403, 0}, {403, 5300}, {403, 1002}, {403, 1014}}, true},
		{"404/1002 session not available", [][2]int{{404, 1002}}, false},
		{"408", [][2]int{{408, 0}, {408, 10002}, {408, 1002}, {408, 20008}}, false},
		{"408/21013", [][2]int{{408, 21013}}, true},
		{"410 topology of a partition", [][2]int{{410, 1000}, {410, 1002}, {410, 1007}, {410, 1008}}, false},
		{"410/1022, 410 other", [][2]int{{410, 1022}, {410, 0}, {410, 21013}}, false},
		{"429/3092", [][2]int{{429, 3092}}, false},
		{"429 other, 449", [][2]int{{429, 0}, {429, 3200}, {429, 3210}, {429, 3214}, {449, 0}, {449, 5350}}, false},
		{"500, 502, 504, other 5xx", [][2]int{{500, 0}, {502, 0}, {504, 0}, {507, 0}, {511, 0}, {599, 0}, {500, 21013}}, false},
		{"501, 505", [][2]int{{501, 0}, {505, 0}, {501, 1002}, {505, 3}}, true},
		{"other 4xx, with any sub-status", [][2]int{{402, 0}, {406, 3}, {415, 1002}, {418, 1008}, {428, 0}, {431, 0}, {448, 1022}, {451, 0}, {499, 21013}}, true},
		{"503", [][2]int{{503, 0}, {503, 21008}, {503, 21005}, {503, 3}}, false},
		{"transport errors, and what is no status", [][2]int{{0, 0}, {-1, 0}, {99, 0}, {600, 0}, {999, 0}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.row, func(t *testing.T) {
			for _, answer := range tt.answers {
				assert.Equal(t, tt.want, Final(answer[0], answer[1]), "%v", answer)
			}
		})
	}
}

// finalTwin is a second reading: what goes on, listed; everything else below 500 is final.
func finalTwin(status, sub int) bool {
	goesOn := map[[2]int]bool{{403, 3}: true, {403, 1008}: true, {404, 1002}: true}
	if status/100 == 5 {
		return status == 501 || status == 505
	}
	if status == 408 {
		return sub == 21013
	}
	if slices.Contains([]int{410, 429, 449}, status) {
		return false
	}
	return status/100 >= 1 && status/100 <= 4 && !goesOn[[2]int{status, sub}]
}

func TestFinalTwin(t *testing.T) {
	subs := []int{0, 1, 3, 1000, 1001, 1002, 1003, 1004, 1007, 1008, 1022, 3092, 3200, 5300, 10002, 20008, 21008, 21013, -1}
	for status := -1; status <= 1100; status++ {
		for _, sub := range subs {
			require.Equal(t, finalTwin(status, sub), Final(status, sub), "%d/%d", status, sub)
		}
	}
}

func FuzzFinal(f *testing.F) {
	f.Add(404, 1002)
	f.Add(408, 21013)
	f.Fuzz(func(t *testing.T, status, sub int) {
		require.Equal(t, finalTwin(status, sub), Final(status, sub))
	})
}
