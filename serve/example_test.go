package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"atenia/serve"
)

// A program mounts the server beside its own pages.
func Example() {
	s, err := serve.New(serve.Config{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	mux := http.NewServeMux()
	mux.Handle("/", s)
	own := httptest.NewServer(mux)
	defer own.Close()
	if err := s.Ready(context.Background()); err != nil {
		panic(err)
	}
	resp, err := http.Get(own.URL + "/health")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, strings.TrimSpace(string(body)))
	// Output: 200 {"status":"ok"}
}
