package policy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	azruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/stretchr/testify/require"
)

func requestWith(t *testing.T, source io.ReadSeekCloser) *azpolicy.Request {
	t.Helper()
	req, err := azruntime.NewRequest(t.Context(), http.MethodPost, "https://acct.documents.azure.test/dbs/d/colls/c/docs")
	require.NoError(t, err)
	require.NoError(t, req.SetBody(source, "application/json"))
	return req
}

// TestLentBody: whenever the content is taken, the attempt that azcore's reader was
// lent to reads on where it was, to the end; every further reader has the whole; and
// azcore's reader is not touched any more.
func TestLentBody(t *testing.T) {
	const text = "0123456789"
	for read := range len(text) + 1 {
		source := bytes.NewReader([]byte(text))
		req := requestWith(t, streaming.NopCloser(source))
		b := bodyOf(req)
		b.lend(req)
		lent := req.Raw().Body
		first := make([]byte, read)
		_, err := io.ReadFull(lent, first)
		require.NoError(t, err)
		require.Equal(t, len(text)-read, source.Len(), "nothing is copied before it must be")

		for _, told := range []bool{false, true} {
			require.NoError(t, b.hand(req, told))
			for _, r := range []func() (io.ReadCloser, error){
				func() (io.ReadCloser, error) { return req.Raw().Body, nil }, req.Raw().GetBody, req.Raw().GetBody,
			} {
				again, err := r()
				require.NoError(t, err)
				whole, err := io.ReadAll(again)
				require.NoError(t, err)
				require.Equal(t, text, string(whole))
			}
			require.Equal(t, int64(len(text)), req.Raw().ContentLength)
			require.Equal(t, "application/json", req.Raw().Header.Get("Content-Type"))
		}
		at := source.Len()
		rest, err := io.ReadAll(lent)
		require.NoError(t, err)
		require.Equal(t, text, string(first)+string(rest))
		require.Equal(t, at, source.Len())
	}
}

// TestLentBodyWhileItIsRead: the content may be taken while the attempt reads, by
// several at once; the race detector sees it if they share anything.
func TestLentBodyWhileItIsRead(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<10)
	for range 20 {
		req := requestWith(t, streaming.NopCloser(bytes.NewReader(text)))
		b := bodyOf(req)
		b.lend(req)
		lent, again := req.Raw().Body, req.Raw().GetBody
		var all sync.WaitGroup
		all.Go(func() {
			var content []byte
			for one := make([]byte, 7); ; {
				n, err := lent.Read(one)
				content = append(content, one[:n]...)
				if err != nil {
					break
				}
			}
			if !bytes.Equal(text, content) {
				t.Error("the lent reader lost something")
			}
		})
		for range 3 {
			all.Go(func() {
				more, err := again()
				if err != nil {
					t.Error(err)
					return
				}
				if whole, err := io.ReadAll(more); err != nil || !bytes.Equal(text, whole) {
					t.Error("a further reader has not the whole", err)
				}
			})
		}
		all.Wait()
	}
}

// TestNoBody: a request without a body stays one.
func TestNoBody(t *testing.T) {
	req := requestWith(t, nil)
	b := bodyOf(req)
	b.lend(req)
	require.NoError(t, b.hand(req, false))
	require.NoError(t, b.hand(req, true))
	require.Nil(t, req.Raw().Body)
	require.Nil(t, req.Raw().GetBody)
}

// unseekable is a body whose reader has failed.
type unseekable struct {
	io.ReadSeekCloser
	whence int // where it fails
}

var errSeek = errors.New("no seek")

func (u *unseekable) Seek(offset int64, whence int) (int64, error) {
	if whence == u.whence {
		return 0, errSeek
	}
	return u.ReadSeekCloser.Seek(offset, whence)
}

// TestBodyThatCannotBeCopied: the error says so, each time.
func TestBodyThatCannotBeCopied(t *testing.T) {
	for _, whence := range []int{io.SeekStart, io.SeekCurrent, io.SeekEnd} {
		source := &unseekable{streaming.NopCloser(bytes.NewReader([]byte("text"))), -1}
		req := requestWith(t, source)
		b := bodyOf(req)
		b.lend(req)
		source.whence = whence
		for range 2 {
			require.ErrorIs(t, b.hand(req, false), errSeek)
			require.ErrorIs(t, b.put(req), errSeek)
			_, err := req.Raw().GetBody()
			require.ErrorIs(t, err, errSeek)
		}
	}
}
