package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
)

// The tables in a README stand between two lines, which may be anywhere in it, once each:
//
//	<!-- bench:healthy begin 1a2b3c4d: written by integration/bench -readme, not by hand -->
//	<!-- bench:healthy end -->
//
// Whatever stands behind "begin" is written anew with them. The number is the checksum of what is between: it tells a hand's edit.
const (
	markerOpen  = "<!-- bench:"
	markerClose = "-->"
	byMachine   = ": written by integration/bench -readme, not by hand"
)

// What is wrong with a README, wrapped in what tells where.
var (
	errNoMarker = errors.New("there is no such line")
	errTwice    = errors.New("there is more than one such line")
	errOrder    = errors.New("the end comes before the beginning")
	errOverlap  = errors.New("a marker stands between the two of another part")
)

// beginMark and endMark are the marker lines as errors show them.
func beginMark(part string) string { return markerOpen + part + " begin " + markerClose }
func endMark(part string) string   { return markerOpen + part + " end " + markerClose }

// isMarker reports whether a line is a marker of any part.
func isMarker(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), markerOpen) }

// marks reports whether a line is the marker of a part, word being "begin" or "end".
func marks(line, part, word string) bool {
	inner, ok := strings.CutPrefix(strings.TrimSpace(line), markerOpen+part+" "+word+" ")
	if !ok {
		return false
	}
	_, ok = strings.CutSuffix(inner, markerClose)
	return ok
}

// only is the line that is the marker of a part.
func only(lines []string, part, word, shown string) (int, error) {
	found := -1
	for i, line := range lines {
		if !marks(line, part, word) {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("%s: %w", shown, errTwice)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("%s: %w", shown, errNoMarker)
	}
	return found, nil
}

// find returns the lines that are the markers of a part.
func find(lines []string, part string) (begin, end int, err error) {
	if begin, err = only(lines, part, "begin", beginMark(part)); err != nil {
		return 0, 0, err
	}
	if end, err = only(lines, part, "end", endMark(part)); err != nil {
		return 0, 0, err
	}
	if end < begin {
		return 0, 0, fmt.Errorf("%s: %w", endMark(part), errOrder)
	}
	for _, line := range lines[begin+1 : end] {
		if isMarker(line) {
			return 0, 0, fmt.Errorf("%s: %w", strings.TrimSpace(line), errOverlap)
		}
	}
	return begin, end, nil
}

// checksum tells one body from another.
func checksum(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }

// replace is a README's text with a body between the markers of a part, blank lines around it.
func replace(text, part, body string) (string, error) {
	lines := strings.Split(text, "\n")
	begin, end, err := find(lines, part)
	if err != nil {
		return "", err
	}
	body = strings.Trim(body, "\n")
	inner := strings.Split(body, "\n")
	for _, line := range inner {
		if isMarker(line) {
			return "", fmt.Errorf("%s in the tables of %s: %w", strings.TrimSpace(line), part, errOverlap)
		}
	}
	var out []string
	out = append(out, lines[:begin]...)
	out = append(out, markerOpen+part+" begin "+checksum(body)+byMachine+" "+markerClose, "")
	out = append(out, inner...)
	out = append(out, "", endMark(part))
	return strings.Join(append(out, lines[end+1:]...), "\n"), nil
}

// bodyOf is what stands between the markers of a part, and whether it is what was written there.
func bodyOf(text, part string) (body string, genuine bool, err error) {
	lines := strings.Split(text, "\n")
	begin, end, err := find(lines, part)
	if err != nil {
		return "", false, err
	}
	body = strings.Trim(strings.Join(lines[begin+1:end], "\n"), "\n")
	return body, strings.Contains(lines[begin], " begin "+checksum(body)+byMachine), nil
}

// checkMarkers is the error for the first part that a README has no place for.
func checkMarkers(text string, parts []string) error {
	for _, part := range parts {
		if _, _, err := find(strings.Split(text, "\n"), part); err != nil {
			return err
		}
	}
	return nil
}

// replaceAll puts the bodies of parts into a README's text. A part without a body stays as it is.
func replaceAll(text string, bodies map[string]string) (string, error) {
	for _, part := range partNames {
		body, ok := bodies[part]
		if !ok {
			continue
		}
		var err error
		if text, err = replace(text, part, body); err != nil {
			return "", err
		}
	}
	return text, nil
}

// updateFile puts the bodies of parts into the file. It is read now, for others may have changed it meanwhile, and changed as a
// whole or not at all.
func updateFile(path string, bodies map[string]string) error {
	path, err := filepath.EvalSymlinks(path) // the file is replaced, not the link
	if err != nil {
		return err
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	after, err := replaceAll(string(before), bodies)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return writeWhole(path, []byte(after))
}

// writeWhole replaces a file, which keeps its mode, by one rename.
func writeWhole(path string, content []byte) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".bench-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(info.Mode()), temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
