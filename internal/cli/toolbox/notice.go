package toolbox

// How a box learns that a server was told that a call is cancelled.

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// noticeTime is for how long the library tries to tell a server of a cancelled call.
const noticeTime = 5 * time.Second

// A notice is what one call owes its server: that it is cancelled. It travels in the call's
// context, whose values the library keeps for the request that tells it.
type notice struct {
	sent chan struct{}
	once sync.Once
}

type noticeKey struct{}

func newNotice() *notice { return &notice{sent: make(chan struct{})} }

func (n *notice) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, noticeKey{}, n)
}

// end says that the server was told, or cannot be, or need not be.
func (n *notice) end() { n.once.Do(func() { close(n.sent) }) }

func (n *notice) wait() {
	select {
	case <-n.sent:
	case <-time.After(noticeTime):
	}
}

// isCancel reports whether a request, whose body was read, says that a call is cancelled.
// Within a string of JSON the quotes would be escaped.
func isCancel(r *http.Request) bool {
	const method, most = `"method":"notifications/cancelled"`, 64 << 10 // with a reason
	if r.Method != http.MethodPost || r.GetBody == nil || r.ContentLength > most {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	b := make([]byte, max(0, r.ContentLength))
	_, err = io.ReadFull(body, b)
	return err == nil && bytes.Contains(b, []byte(method))
}
