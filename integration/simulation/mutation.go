package simulation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutation is a fault to plant in the product: a replacement of lines in one
// file. Its file holds what the fault is, an empty line, the path, the lines that
// go with a "-" before each, and those that come with a "+".
type Mutation struct {
	Name, Why, File string
	Old, New        string
}

// ReadMutations reads all files of a folder.
func ReadMutations(dir string) ([]Mutation, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	list := make([]Mutation, 0, len(files))
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parseMutation(string(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m.Name = strings.TrimSuffix(filepath.Base(file), ".txt")
		list = append(list, m)
	}
	return list, nil
}

func parseMutation(text string) (Mutation, error) {
	why, rest, ok := strings.Cut(text, "\n\n")
	file, lines, more := strings.Cut(rest, "\n")
	m := Mutation{Why: why, File: file}
	if !ok || !more || why == "" || file == "" {
		return m, errors.New("not a reason, an empty line, a path and lines")
	}
	for line := range strings.Lines(lines) {
		switch {
		case strings.HasPrefix(line, "-") && m.New == "":
			m.Old += line[1:]
		case strings.HasPrefix(line, "+"):
			m.New += line[1:]
		default:
			return m, fmt.Errorf("neither an old line nor a new one: %q", line)
		}
	}
	if m.Old == "" {
		return m, errors.New("nothing goes")
	}
	return m, nil
}

// Apply plants the fault in the text of its file, where the old lines must stand
// exactly once.
func (m Mutation) Apply(text string) (string, error) {
	if n := strings.Count(text, m.Old); n != 1 {
		return "", fmt.Errorf("%s has the lines %d times:\n%s", m.File, n, m.Old)
	}
	return strings.Replace(text, m.Old, m.New, 1), nil
}
