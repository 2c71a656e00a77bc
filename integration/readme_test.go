package integration_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// namedTest is a test as README.md names it: [`package.TestName/subtest`](file),
// of package policy if it says none. anyTest is whatever looks like one.
var (
	namedTest = regexp.MustCompile("\\[`(?:([a-z]+)\\.)?(Test\\w+)(?:/([^`]+))?`\\]\\(([^)]+)\\)")
	anyTest   = regexp.MustCompile(`\bTest[A-Z]\w*`)
	peersTest = regexp.MustCompile(`(?m)^func (TestPeers\w+)\(`)
)

// TestReadmeNamesTests: every test that README.md names is in the file that it
// says, the parts of a subtest's name are strings of that package's tests, and
// every test that was made for a peer's scenario is named.
func TestReadmeNamesTests(t *testing.T) {
	content, err := os.ReadFile("README.md")
	require.NoError(t, err)
	readme := string(content)
	named := map[string]bool{}
	folders := map[string]map[string]bool{}
	for _, m := range namedTest.FindAllStringSubmatch(readme, -1) {
		pkg, name, subtest, file := m[1], m[2], m[3], m[4]
		named[name] = true
		folder := filepath.Dir(file)
		assert.Equal(t, packageOf(t, folder), cmp.Or(pkg, "policy"), "the package of %s", m[0])
		assert.True(t, testsOf(t, file)[name], "%s is not in %s", name, file)
		if folders[folder] == nil {
			folders[folder] = stringsOf(t, folder)
		}
		assert.True(t, subtest == "" || made(subtest, folders[folder]), "no subtest %s of %s in %s", subtest, name, folder)
	}
	require.NotEmpty(t, named)
	for _, name := range anyTest.FindAllString(readme, -1) {
		assert.True(t, named[name] || name == "TestPeers", "%s is named without its file", name)
	}
	for _, name := range peersTests(t) {
		assert.True(t, named[name], "%s is not named", name)
	}
}

// packageOf is the package of a folder, which has the folder's own name.
func packageOf(t *testing.T, folder string) string {
	t.Helper()
	absolute, err := filepath.Abs(folder)
	require.NoError(t, err)
	return filepath.Base(absolute)
}

// testsOf is the test functions of a file.
func testsOf(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	tests := map[string]bool{}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			tests[f.Name.Name] = true
		}
	}
	return tests
}

// stringsOf is the strings in the tests of a folder, blanks made underscores as
// in the names of subtests.
func stringsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	all := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				value, err := strconv.Unquote(l.Value)
				assert.NoError(t, err)
				all[strings.ReplaceAll(value, " ", "_")] = true
			}
			return true
		})
	}
	return all
}

// made reports whether a subtest's name is made of strings, joined by slashes.
func made(subtest string, of map[string]bool) bool {
	if of[subtest] {
		return true
	}
	for i, c := range subtest {
		if c == '/' && of[subtest[:i]] && made(subtest[i+1:], of) {
			return true
		}
	}
	return false
}

// peersTests is the tests that were made for scenarios of the peers.
func peersTests(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../policy/*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range peersTest.FindAllStringSubmatch(string(content), -1) {
			names = append(names, m[1])
		}
	}
	require.NotEmpty(t, names)
	return names
}
