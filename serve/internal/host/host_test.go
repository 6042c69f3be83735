package host

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"atenia"
	"atenia/internal/fault"
)

// TestReadLimitEnds: a body has its time, which ends with the body: an answer may take
// longer.
func TestReadLimitEnds(t *testing.T) {
	const limit = time.Minute
	for sent, want := range map[string]int{"{}": http.StatusOK, "{": http.StatusBadRequest} { // of two bytes
		synctest.Test(t, func(t *testing.T) {
			h := New(Config{Limits: Limits{Read: limit}})
			mux := http.NewServeMux()
			h.Mount(mux, []Route{{Pattern: "POST /think", Serve: func(_ http.ResponseWriter, r *Request) error {
				if _, err := io.ReadAll(r.Body); err != nil {
					return &Problem{Status: http.StatusBadRequest, Err: err}
				}
				thought, cancel := context.WithTimeout(r.Context(), 6*limit)
				defer cancel()
				if <-thought.Done(); r.Context().Err() != nil {
					return r.Context().Err()
				}
				return r.WriteJSON(http.StatusOK, "done")
			}}})
			client, server := net.Pipe()
			line := make(oneConn, 1)
			line <- server
			web := &http.Server{Handler: mux}
			go web.Serve(line)
			begun := time.Now()
			if _, err := io.WriteString(client, "POST /think HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"+sent); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			if resp.StatusCode != want || err != nil {
				t.Errorf("%q: %d %s %v, want %d", sent, resp.StatusCode, b, err, want)
			}
			if took := time.Since(begun); want != http.StatusOK && took != limit+restTime { // for what may still come
				t.Errorf("half a body has %v, want %v", took, limit+restTime)
			}
			client.Close()
			close(line)
			web.Close()
		})
	}
}

// oneConn is a listener with the connections that are in it.
type oneConn chan net.Conn

func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (oneConn) Close() error   { return nil }
func (oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestTracked: the status of a response is the first that is final.
func TestTracked(t *testing.T) {
	w := &tracked{ResponseWriter: httptest.NewRecorder()}
	for _, status := range []int{http.StatusEarlyHints, http.StatusTeapot, http.StatusInternalServerError} {
		w.WriteHeader(status)
	}
	if w.status != http.StatusTeapot {
		t.Errorf("the status is %d", w.status)
	}
	w = &tracked{ResponseWriter: httptest.NewRecorder()}
	_, _ = w.Write([]byte("a"))
	if w.WriteHeader(http.StatusInternalServerError); w.status != http.StatusOK {
		t.Errorf("after a body the status is %d", w.status)
	}
}

// TestSign: the options of each answer of a request say whose it is: the id, with a number
// for further ones, the client, and the adapter that the model's name stands for unless
// another was asked for.
func TestSign(t *testing.T) {
	r := &Request{Request: httptest.NewRequest("POST", "/", nil), ID: "a", client: "key"}
	l := &Lease{adapter: "named"}
	for i, want := range []atenia.Options{{ID: "a", Client: "key", Adapter: "named"}, {ID: "a.2", Client: "key", Adapter: "own"}, {ID: "a.3", Client: "key", Adapter: "named"}} {
		var o atenia.Options
		if i == 1 {
			o.Adapter = "own"
		}
		if r.sign(l, &o); o.ID != want.ID || o.Client != want.Client || o.Adapter != want.Adapter {
			t.Errorf("answer %d: %q of %q with %q, want %+v", i, o.ID, o.Client, o.Adapter, want)
		}
	}
}

// TestBlame: an unknown error about a conversation with images is the client's, a panic is
// not.
func TestBlame(t *testing.T) {
	c := &atenia.Conversation{Messages: []atenia.Message{{Role: "user", Parts: []atenia.ContentPart{{Image: []byte{1}}}}}}
	plain := &atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: "a"}}}
	unknown, broken := errors.New("no picture"), error(&fault.Panic{})
	for _, k := range []struct {
		c    *atenia.Conversation
		err  error
		want int
	}{{c, unknown, 400}, {plain, unknown, 500}, {c, broken, 500}} {
		if got := problemIn(blame(k.c, k.err), nil).Status; got != k.want {
			t.Errorf("%v: %d, want %d", k.err, got, k.want)
		}
	}
}

// TestReleaseTwice: a lease that is given back twice counts once.
func TestReleaseTwice(t *testing.T) {
	p, err := NewPool(PoolConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var leases []*Lease
	for range 2 {
		l, err := p.Borrow(t.Context(), defaultName)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	for _, want := range []int{1, 1, 0, 0} {
		if leases[1-want].Release(); p.List()[0].Users != want {
			t.Errorf("%d users, want %d", p.List()[0].Users, want)
		}
	}
}
