package policy

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// body is the content of a request. Every attempt gets a reader of its own over
// it: over HTTP/2, net/http may go on reading the body of an attempt that has
// already failed. azcore's reader may be lent to the first attempt: a copy of the
// content is made when there is another, and the first goes on over that.
type body struct {
	mutex  sync.Mutex    // guards what follows
	source io.ReadSeeker // azcore's reader, nil once the content was taken
	taken  *taken
}

// taken is a content that was copied.
type taken struct {
	content []byte
	rest    bytes.Reader // what the attempt that azcore's reader was lent to has yet to read
}

// bodyOf is the body of a request, nil if it has none.
func bodyOf(req *azpolicy.Request) *body {
	source := req.Body()
	if source == nil {
		return nil
	}
	return &body{source: source}
}

// take copies the content, once, and lets go of azcore's reader. It is nil where
// there is no body.
func (b *body) take() ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.taken != nil {
		return b.taken.content, nil
	}
	content, read, err := copyOf(b.source)
	if err != nil {
		return nil, fmt.Errorf("azcosmos-ha: read the request body: %w", err)
	}
	b.source, b.taken = nil, &taken{content: content}
	b.taken.rest.Reset(content[read:])
	return content, nil
}

// copyOf copies a whole body, of which something may have been read.
func copyOf(source io.ReadSeeker) (content []byte, read int64, err error) {
	if read, err = source.Seek(0, io.SeekCurrent); err != nil {
		return nil, 0, err
	}
	size, err := source.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, err
	}
	if _, err = source.Seek(0, io.SeekStart); err != nil {
		return nil, 0, err
	}
	content = make([]byte, size)
	_, err = io.ReadFull(source, content)
	return content, min(read, size), err
}

// lend lets the caller's request have azcore's reader, until the content is taken.
func (b *body) lend(req *azpolicy.Request) {
	if b != nil {
		raw := req.Raw()
		raw.Body, raw.GetBody = b, b.again
	}
}

// Read implements [io.Reader], for the attempt that azcore's reader is lent to.
func (b *body) Read(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.taken != nil {
		return b.taken.rest.Read(p)
	}
	return b.source.Read(p)
}

// Close implements [io.Closer].
func (*body) Close() error { return nil }

// again is what net/http calls when it sends by itself again.
func (b *body) again() (io.ReadCloser, error) {
	content, err := b.take()
	if err != nil {
		return nil, err
	}
	return streaming.NopCloser(bytes.NewReader(content)), nil
}

// hand gives the caller's request a reader over the copy. azcore is told when
// somebody may ask it to rewind that.
func (b *body) hand(req *azpolicy.Request, told bool) error {
	if told {
		return b.put(req)
	}
	content, err := b.take()
	if content == nil || err != nil {
		return err
	}
	raw := req.Raw()
	raw.Body, raw.GetBody = streaming.NopCloser(bytes.NewReader(content)), b.again
	return nil
}

// put gives a request a reader over the copy, and tells azcore, which sets the
// length and the type.
func (b *body) put(req *azpolicy.Request) error {
	content, err := b.take()
	if content == nil || err != nil {
		return err
	}
	raw := req.Raw()
	err = req.SetBody(streaming.NopCloser(bytes.NewReader(content)), raw.Header.Get("Content-Type"))
	raw.GetBody = b.again
	return err
}
