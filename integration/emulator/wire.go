package emulator

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The headers of the service's REST interface that the questions need.
const (
	headerPartitionKey = "x-ms-documentdb-partitionkey"
	headerRangeID      = "x-ms-documentdb-partitionkeyrangeid"
	headerQuery        = "x-ms-documentdb-query"
	headerCrossQuery   = "x-ms-documentdb-query-enablecrosspartition"
	headerBatch        = "x-ms-cosmos-is-batch-request"
	headerBatchAtomic  = "x-ms-cosmos-batch-atomic"
	headerBatchOrdered = "x-ms-cosmos-batch-ordered"
	headerRetryAfter   = "x-ms-retry-after-ms"

	apiVersion = "2020-11-05" // what azcosmos 1.5.0 sends
)

// wire speaks plain REST: what an emulator can do must not depend on what a client makes of it.
type wire struct {
	endpoint, key string
	client        *http.Client
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes one signed request. path has no slash in front and is empty for the account; body is sent as JSON unless it is
// nil. The error is one of the connection: every status is an answer.
func (w wire) send(ctx context.Context, method, path string, header map[string]string, body any) (answer, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return answer{}, fmt.Errorf("%s /%s: %w", method, path, err)
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, w.endpoint+"/"+path, content)
	if err != nil {
		return answer{}, fmt.Errorf("%s /%s: %w", method, path, err)
	}
	date := strings.ToLower(time.Now().UTC().Format(http.TimeFormat))
	req.Header.Set("x-ms-date", date)
	req.Header.Set("x-ms-version", apiVersion)
	req.Header.Set("Authorization", sign(w.key, method, path, date))
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return answer{}, err // names method and URL by itself
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s /%s: %w", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, data}, nil
}

// sign returns the Authorization header of a request made with an account key: the HMAC of verb, resource type, resource link
// and date, each on a line. The date is in lower case. A key that is not base64 signs like an empty one.
func sign(key, method, path, date string) string {
	kind, link := resource(path)
	secret, _ := base64.StdEncoding.DecodeString(key)
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n\n", strings.ToLower(method), kind, link, date)
	return url.QueryEscape("type=master&ver=1.0&sig=" + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// resource splits a path as the signature wants it: of a feed (dbs/d/colls) the kind and the parent, of an item (dbs/d) the
// kind and the item itself, of the account nothing.
func resource(path string) (kind, link string) {
	parts := strings.Split(path, "/")
	switch n := len(parts); {
	case path == "":
		return "", ""
	case n%2 == 1:
		return parts[n-1], strings.Join(parts[:n-1], "/")
	default:
		return parts[n-2], path
	}
}

// retryAfter returns how long an answer asks to wait: a second if it does not say.
func retryAfter(a answer) time.Duration {
	ms, err := strconv.Atoi(a.header.Get(headerRetryAfter))
	if err != nil || ms <= 0 {
		return time.Second
	}
	return time.Duration(ms) * time.Millisecond
}

// pause waits for d, or until the context is done: then it returns its error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
