package emulator

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The example of the service's documentation, "Access control on Azure Cosmos DB resources".
func TestSignPublishedExample(t *testing.T) {
	const key = "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw=="
	got, err := url.QueryUnescape(sign(key, http.MethodGet, "dbs/ToDoList", "thu, 27 apr 2017 00:51:12 gmt"))
	require.NoError(t, err)
	assert.Equal(t, "type=master&ver=1.0&sig=c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+c+c=", got)
}

func TestResource(t *testing.T) {
	for path, want := range map[string][2]string{
		"":                       {"", ""},
		"dbs":                    {"dbs", ""},
		"dbs/d":                  {"dbs", "dbs/d"},
		"dbs/d/colls":            {"colls", "dbs/d"},
		"dbs/d/colls/c":          {"colls", "dbs/d/colls/c"},
		"dbs/d/colls/c/docs":     {"docs", "dbs/d/colls/c"},
		"dbs/d/colls/c/docs/1":   {"docs", "dbs/d/colls/c/docs/1"},
		"dbs/d/colls/c/pkranges": {"pkranges", "dbs/d/colls/c"},
	} {
		kind, link := resource(path)
		assert.Equal(t, want, [2]string{kind, link}, path)
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"":     time.Second,
		"x":    time.Second,
		"-5":   time.Second,
		"0":    time.Second,
		"20":   20 * time.Millisecond,
		"2000": 2 * time.Second,
	} {
		assert.Equal(t, want, retryAfter(answer{header: http.Header{"X-Ms-Retry-After-Ms": {value}}}), "%q", value)
	}
}
