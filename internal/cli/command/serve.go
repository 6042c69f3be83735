package command

import (
	"net"
	"net/http"

	"atenia/internal/fault"
)

// Serve serves at l until web is closed. What ended it comes once; a panic is an error.
func Serve(web *http.Server, l net.Listener) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- fault.Call(func() error { return web.Serve(l) }) }()
	return ended
}
