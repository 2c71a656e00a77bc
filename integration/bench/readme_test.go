package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// page is a README with places for two parts.
const page = `# Title

<!-- bench:cores begin -->
old
<!-- bench:cores end -->
between
  <!-- bench:scale begin 00000000: anything -->
<!-- bench:scale end -->
last`

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, part, body, want string
	}{
		{"the first", "cores", "new", "# Title\n\n<!-- bench:cores begin 6be34445: written by integration/bench -readme, not by hand -->\n\nnew\n\n<!-- bench:cores end -->\nbetween\n  <!-- bench:scale begin 00000000: anything -->\n<!-- bench:scale end -->\nlast"},
		{"the second", "scale", "\n\na\n\nb\n", "# Title\n\n<!-- bench:cores begin -->\nold\n<!-- bench:cores end -->\nbetween\n<!-- bench:scale begin f61a2252: written by integration/bench -readme, not by hand -->\n\na\n\nb\n\n<!-- bench:scale end -->\nlast"},
	} {
		got, err := replace(page, c.part, c.body)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, got, c.name)
		body, genuine, err := bodyOf(got, c.part)
		require.NoError(t, err, c.name)
		assert.Equal(t, strings.Trim(c.body, "\n"), body, c.name)
		assert.True(t, genuine, c.name)
	}
}

func TestReplaceRefuses(t *testing.T) {
	const begin, end, other = "<!-- bench:cores begin -->\n", "<!-- bench:cores end -->\n", "<!-- bench:scale end -->\n"
	for _, c := range []struct {
		name, text, body string
		want             error
		names            string
	}{
		{"no beginning", end, "x", errNoMarker, "<!-- bench:cores begin -->"},
		{"no end", begin, "x", errNoMarker, "<!-- bench:cores end -->"},
		{"nothing", "", "x", errNoMarker, "<!-- bench:cores begin -->"},
		{"in a line", "see " + begin + end, "x", errNoMarker, "<!-- bench:cores begin -->"},
		{"not closed", "<!-- bench:cores begin\n" + end, "x", errNoMarker, "<!-- bench:cores begin -->"},
		{"another part's name begins alike", "<!-- bench:cores2 begin -->\n" + end, "x", errNoMarker, "<!-- bench:cores begin -->"},
		{"two beginnings", begin + begin + end, "x", errTwice, "<!-- bench:cores begin -->"},
		{"two ends", begin + end + end, "x", errTwice, "<!-- bench:cores end -->"},
		{"the wrong way round", end + begin, "x", errOrder, "<!-- bench:cores end -->"},
		{"one in the other", begin + other + end, "x", errOverlap, "<!-- bench:scale end -->"},
		{"a marker in the body", begin + end, "x\n" + other, errOverlap, "<!-- bench:scale end -->"},
	} {
		got, err := replace(c.text, "cores", c.body)
		require.ErrorIs(t, err, c.want, c.name)
		assert.Contains(t, err.Error(), c.names, c.name)
		assert.Empty(t, got, c.name)
	}
}

// TestGenuine: a hand's edit shows.
func TestGenuine(t *testing.T) {
	text, err := replace(page, "cores", "| a | 1.050 × |")
	require.NoError(t, err)
	for text, want := range map[string]bool{
		text: true,
		strings.Replace(text, "1.050", "1.005", 1):   false,
		strings.Replace(text, "| a", "note\n| a", 1): false,
		page: false,
	} {
		_, genuine, err := bodyOf(text, "cores")
		require.NoError(t, err)
		assert.Equal(t, want, genuine, text)
	}
}

// TestReplaceAll: only the parts that are there are replaced, and one without a place spoils all.
func TestReplaceAll(t *testing.T) {
	same, err := replaceAll(page, nil)
	require.NoError(t, err)
	assert.Equal(t, page, same)
	one, err := replaceAll(page, map[string]string{"scale": "new"})
	require.NoError(t, err)
	want, err := replace(page, "scale", "new")
	require.NoError(t, err)
	assert.Equal(t, want, one)
	both, err := replaceAll(page, map[string]string{"scale": "new", "cores": "newer"})
	require.NoError(t, err)
	want, err = replace(want, "cores", "newer")
	require.NoError(t, err)
	assert.Equal(t, want, both)
	_, err = replaceAll(page, map[string]string{"scale": "new", "healthy": "newer"})
	require.ErrorIs(t, err, errNoMarker)
	require.NoError(t, checkMarkers(page, []string{"scale", "cores"}))
	require.ErrorContains(t, checkMarkers(page, []string{"scale", "virtual"}), "<!-- bench:virtual begin -->")
}

// dumbReplace does it with one expression, for texts that replace accepts.
func dumbReplace(text, part, body string) string {
	block := regexp.MustCompile(`(?m)^[^\S\n]*<!-- bench:` + part + ` begin (?s:.*?)-->[^\S\n]*$(?s:.*)^[^\S\n]*<!-- bench:` + part + ` end (?s:.*?)-->[^\S\n]*$`)
	body = strings.Trim(body, "\n")
	whole := "<!-- bench:" + part + " begin " + checksum(body) + byMachine + " -->\n\n" + body + "\n\n<!-- bench:" + part + " end -->"
	at := block.FindStringIndex(text)
	return text[:at[0]] + whole + text[at[1]:]
}

// FuzzReplace: what was written is read back, is genuine, and nothing else has changed; once more changes nothing; the same as a
// simpler way.
func FuzzReplace(f *testing.F) {
	f.Add(page, "new\n\nlines")
	f.Add("<!-- bench:cores begin -->\n<!-- bench:cores end -->", "")
	f.Add("a\n\t<!-- bench:cores begin x --> \nb\n<!-- bench:cores end y -->\nc\n", "\n|a|\n")
	f.Add("<!-- bench:cores end -->\n<!-- bench:cores begin -->", "x")
	f.Fuzz(func(t *testing.T, text, body string) {
		got, err := replace(text, "cores", body)
		if err != nil {
			assert.Empty(t, got)
			return
		}
		back, genuine, err := bodyOf(got, "cores")
		require.NoError(t, err)
		assert.True(t, genuine)
		assert.Equal(t, strings.Trim(body, "\n"), back)
		again, err := replace(got, "cores", body)
		require.NoError(t, err)
		assert.Equal(t, got, again)
		lines := strings.Split(text, "\n")
		begin, end, err := find(lines, "cores")
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(got, strings.Join(lines[:begin], "\n")))
		assert.True(t, strings.HasSuffix(got, strings.Join(lines[end+1:], "\n")))
		if !strings.ContainsAny(text, "\r\v\f\u0085\u00a0") && isASCII(text) { // where the two know the same spaces
			assert.Equal(t, dumbReplace(text, "cores", body), got)
		}
	})
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > 126 }) < 0
}

// TestUpdateFile: as a whole or not at all, with the mode that it had, through a link, and nothing is left behind.
func TestUpdateFile(t *testing.T) {
	folder := t.TempDir()
	path, link := filepath.Join(folder, "README.md"), filepath.Join(folder, "link.md")
	require.NoError(t, os.WriteFile(path, []byte(page), 0o640))
	require.NoError(t, os.Symlink(path, link))
	err := updateFile(path, map[string]string{"cores": "new", "virtual": "new"})
	require.ErrorIs(t, err, errNoMarker)
	assert.Contains(t, err.Error(), path)
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, page, string(left), "not at all")

	require.NoError(t, updateFile(link, map[string]string{"cores": "new"}))
	want, err := replace(page, "cores", "new")
	require.NoError(t, err)
	left, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want, string(left))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode())
	info, err = os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink, "the link is still one")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, 2)
	require.Error(t, updateFile(filepath.Join(folder, "none.md"), nil))
}

// sampleCosts are costs of all who are in the first table.
func sampleCosts() [][]cost {
	one := []cost{
		{name: plain.name, ratio: 1, whole: 1, cpu: 19100, objects: 193, bytes: 18497},
		{name: oursOff.name, ratio: 1.05, whole: 1.04, objects: 197, bytes: 18765},
		{name: ours.name, ratio: 1.119, whole: 1.097, objects: 202, bytes: 19356},
		{name: failsafe1.name, ratio: 2.4, objects: 226, bytes: 20641},
		{name: hedged.name, ratio: 1.918, objects: 192, bytes: 16000},
		{name: again.name, ratio: 0.996},
	}
	return [][]cost{one, one, one}
}

// samples are quotes of all parts, of made up figures.
func samples() map[string]string {
	s := settings{quick: true}
	var blocks []block
	for _, sc := range scenarios() {
		blocks = append(blocks, block{scenario: sc})
	}
	l := load{100, 100}
	scaling, throughput := &table{columns: scaleColumns}, &table{columns: coresColumns}
	scaling.add("partitions seen: 1", "1.020 ×", "1.100 ×")
	for _, c := range onTheCores {
		throughput.add(c.name, "a", "b", "c", "d", "e", "f")
	}
	return map[string]string{
		"healthy": quoteHealthy(s, sampleCosts(), 0.44), "scale": quoteScale(s, scaling), "cores": quoteCores(s, throughput),
		"virtual": quoteVirtual(s, l, blocks), "loopback": quoteLoopback(s, l, blocks),
	}
}

// skeleton is what of a body the code decides: the heads of tables, the text between them, and, if the rows are always the
// same, the first cell of each.
func skeleton(body string, rows bool) []string {
	var list []string
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "|")
		switch {
		case len(cells) < 3:
			if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "<sub>Made by ") {
				list = append(list, text)
			}
		case i+1 < len(lines) && strings.HasPrefix(lines[i+1], "| -"):
			for _, cell := range cells {
				list = append(list, strings.TrimSpace(cell))
			}
		case rows && !strings.HasPrefix(line, "| -"):
			list = append(list, strings.TrimSpace(cells[1]))
		}
	}
	return list
}

// TestReadmeInTheTree: the README has a place for every part, nobody has edited what stands there, and it is what would be
// written today but for the figures. If it fails, run the bench with -readme.
func TestReadmeInTheTree(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	today := samples()
	for _, part := range partNames {
		body, genuine, err := bodyOf(string(text), part)
		require.NoError(t, err)
		assert.True(t, genuine, "%s: edited by hand", part)
		rows := part != "scale" // whose rows depend on the effort
		assert.Equal(t, skeleton(today[part], rows), skeleton(body, rows), part)
	}
}

// TestSkeleton: what the test above would see, and what it would not.
func TestSkeleton(t *testing.T) {
	body := samples()["healthy"]
	same := strings.Replace(body, "1.050 ×", "1.020 ×", 1)
	require.NotEqual(t, body, same)
	assert.Equal(t, skeleton(body, true), skeleton(same, true))
	for _, change := range [][2]string{{"hedgedhttp", "hedged"}, {"`UpsertItem`", "`Upsert`"}, {"| allocations ", "| objects     "}} {
		other := strings.Replace(body, change[0], change[1], 1)
		require.NotEqual(t, body, other)
		assert.NotEqual(t, skeleton(body, true), skeleton(other, true), change)
	}
	assert.Equal(t, []string{"", "a", "b", ""}, skeleton("| a | b |\n| --- | --: |\n| 1 | 2 |\n<sub>Made by hand</sub>", false))
}

// TestQuotes compares with what they should look like.
func TestQuotes(t *testing.T) {
	s, l := settings{}, blocksOf()
	l[0].outcomes[0].lost = 10_000
	scaling := &table{columns: scaleColumns}
	scaling.add("partitions seen: 1,000", "1.020 ×", "1.100 ×")
	throughput := &table{columns: coresColumns}
	throughput.add("plain", "1 ×", "2 ×", "3 ×", "left out", "5", "6")
	var all []string
	for _, body := range []string{
		quoteHealthy(s, sampleCosts(), 0.44), quoteScale(s, scaling), quoteCores(s, throughput),
		quoteVirtual(s, load{100e9, 100}, l), quoteLoopback(s, load{100e9, 100}, l),
	} {
		all = append(all, regexp.MustCompile(`on \d+ cores with go\S+, .*?\. `).ReplaceAllString(body, "on a machine. "))
	}
	golden(t, "quotes.md", []byte(strings.Join(all, "\n\n")+"\n"))
	good := sampleCosts()
	good[0][1].ratio, good[0][2].ratio, good[0][2].whole = 1.01, 1.04, 1.03
	good[0][1].whole = 1.01
	assert.Contains(t, quoteHealthy(s, good, 0), "1.020 × (kept) and 1.050 × (kept).")
	l[1].outcomes[1].lost = 0
	assert.Contains(t, quoteVirtual(s, load{100e9, 100}, l), "Everywhere azcosmos-ha keeps")
	assert.NotContains(t, promiseWords(l, 0), "may be late")
	assert.Contains(t, promiseWords(l, wireSlack), "A machine may be late by 400ms.")
	assert.Contains(t, quoteScale(settings{quick: true}, scaling), "-quick -readme")
}

func TestWords(t *testing.T) {
	assert.Equal(t, "5", millis(nearby))
	assert.Equal(t, "5.3", millis(nearby*106/100))
	assert.Equal(t, "10", millis(9950e3))
	assert.Equal(t, "3,020", millis(3020e6))
	assert.Equal(t, "+1,234", more(1234, 0))
	assert.Equal(t, "−10,000", more(0, 10_000))
	assert.Equal(t, "+4", more(197, 193))
	assert.Equal(t, "0", more(3, 3))
	row := []string{"a", "b", "c"}
	assert.Equal(t, []string{"a", "c"}, leave(row, 1))
	assert.Equal(t, []string{"a", "b", "c"}, row, "not changed")
}

// TestReadmeFlag: a README without a place is an error before anything is measured, one with a place gets the part that ran.
func TestReadmeFlag(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(path, []byte(page), 0o600))
	s := settings{readme: path, parts: []string{"scale", "healthy"}, effort: small}
	var out, progress strings.Builder
	require.ErrorContains(t, run(t, s, &out, &progress), "<!-- bench:healthy begin -->")
	assert.Empty(t, progress.String(), "nothing was measured")
	s.parts = []string{"scale"}
	require.NoError(t, run(t, s, &out, &progress))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	body, genuine, err := bodyOf(string(text), "scale")
	require.NoError(t, err)
	assert.True(t, genuine)
	assert.Contains(t, body, "regions: 32")
	assert.Contains(t, string(text), "<!-- bench:cores begin -->\nold\n", "as it was")
	s.readme = filepath.Join(t.TempDir(), "none.md")
	require.Error(t, run(t, s, &out, &progress))
}
