package simulation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutationsApply keeps the list in step with the code: each fault can be
// planted, and changes something.
func TestMutationsApply(t *testing.T) {
	list, err := ReadMutations("mutations")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(list), 12)
	for _, m := range list {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(m.File)))
		require.NoError(t, err, m.Name)
		changed, err := m.Apply(string(text))
		require.NoError(t, err, m.Name)
		require.NotEqual(t, string(text), changed, m.Name)
	}
}

// TestMutationsThatAreNone refuses files that are no mutation.
func TestMutationsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "why\n", "why\n\npath\n", "why\n\npath\n+new\n", "why\n\npath\n-old\n new\n", "why\n\npath\n-old\n+new\n-old\n", "\n\npath\n-old\n"} {
		_, err := parseMutation(text)
		require.Error(t, err, text)
	}
	m, err := parseMutation("why\n\npath\n-\ta\n-b\n+c\n")
	require.NoError(t, err)
	require.Equal(t, Mutation{Why: "why", File: "path", Old: "\ta\nb\n", New: "c\n"}, m)
	for _, text := range []string{"", "\ta\n", "\ta\nb\n\ta\nb\n"} {
		_, err := m.Apply(text)
		require.Error(t, err, text)
	}
}
