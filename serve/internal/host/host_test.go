package host

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestReadLimitEnds: the time for a body ends with the body: an answer may take longer.
func TestReadLimitEnds(t *testing.T) {
	const limit = 50 * time.Millisecond
	h := New(Config{Limits: Limits{Read: limit}})
	mux := http.NewServeMux()
	h.Mount(mux, []Route{{Pattern: "POST /think", Serve: func(_ http.ResponseWriter, r *Request) error {
		if _, err := io.ReadAll(r.Body); err != nil {
			return err
		}
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-time.After(6 * limit):
		}
		return r.WriteJSON(http.StatusOK, "done")
	}}})
	web := httptest.NewServer(mux)
	defer web.Close()
	resp, err := http.Post(web.URL+"/think", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || err != nil {
		t.Errorf("%d %s %v", resp.StatusCode, b, err)
	}
}

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
