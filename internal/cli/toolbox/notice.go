package toolbox

// How a box learns that a server was told that a call is cancelled.

import (
	"context"
	"encoding/json"
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

// isCancel reports whether a request says that a call is cancelled. Its body was read.
func isCancel(r *http.Request) bool {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return false
	}
	b, err := r.GetBody()
	if err != nil {
		return false
	}
	defer b.Close()
	var m struct{ Method string }
	return json.NewDecoder(b).Decode(&m) == nil && m.Method == "notifications/cancelled"
}
