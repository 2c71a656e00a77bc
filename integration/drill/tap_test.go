package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPerhapsDone(t *testing.T) {
	cases := []struct {
		name   string
		left   bool
		status int // 0: an error
		want   bool
	}{
		{"refused", false, 0, false},
		{"no answer", true, 0, true},
		{"200, broken off", true, 200, true},
		{"201, broken off", true, 201, true},
		{"403", true, 403, false},
		{"408", true, 408, true},
		{"410", true, 410, false},
		{"429", true, 429, false},
		{"500", true, 500, true},
		{"501", true, 501, false},
		{"502", true, 502, true},
		{"503", true, 503, false},
		{"504", true, 504, true},
		{"505", true, 505, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.status == 0 {
				require.Equal(t, c.want, perhapsDone(c.left, nil, errors.New("broken")))
				return
			}
			require.Equal(t, c.want, perhapsDone(c.left, &http.Response{StatusCode: c.status}, nil))
		})
	}
}

// TestTap: attempts at items are noted with their operation, everything else is not.
func TestTap(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("break") {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	tap := &tap{next: server.Client(), names: map[string]string{"127.0.0.1": "West US"}}
	u, err := url.Parse(server.URL)
	require.NoError(t, err)

	ctx, n := withNotes(t.Context())
	send := func(method, target string) error {
		r, err := http.NewRequestWithContext(ctx, method, target, nil)
		require.NoError(t, err)
		response, err := tap.Do(r)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	require.NoError(t, send(http.MethodGet, server.URL+"/"))
	contacted, _, perhaps := n.read()
	require.Empty(t, contacted)
	require.False(t, perhaps)

	require.NoError(t, send(http.MethodGet, server.URL+"/dbs/d/colls/c/docs/1"))
	require.Error(t, send(http.MethodPost, "http://localhost:1/dbs/d/colls/c/docs"))
	contacted, _, _ = n.read()
	require.Equal(t, []string{"West US", "localhost"}, contacted)

	ctx, n = withNotes(t.Context())
	require.Error(t, send(http.MethodPost, "http://localhost:1/dbs/d/colls/c/docs"))
	_, _, perhaps = n.read()
	require.False(t, perhaps, "refused: surely not sent")
	require.Error(t, send(http.MethodPost, fmt.Sprintf("http://%s/dbs/d/colls/c/docs?break", u.Host)))
	contacted, _, perhaps = n.read()
	require.Equal(t, []string{"localhost", "West US"}, contacted)
	require.True(t, perhaps, "sent, and no answer")
}
