// Package host is what all dialects of the server stand on: models by name, requests
// with their limits, and streams.
//
//	Pool     models by name: loaded when wanted, unloaded when idle, within one budget
//	Lease    one model, borrowed for a request
//	Host     the pool, limits, keys, log and metrics
//	Route    one endpoint of a dialect: its pattern, how it answers, how it fails
//	Request  a request with an id: reads JSON, borrows models, generates, goes on without its client (Detach)
//	Events   a stream of server-sent events; Lines a stream of JSON lines
//	Problem  an error with a status, which each dialect writes in its own form
//
// A dialect is a function that returns routes:
//
//	func Routes() []host.Route {
//		return []host.Route{{Pattern: "POST /v1/messages", Serve: messages, Fail: fail}}
//	}
//
//	func messages(w http.ResponseWriter, r *host.Request) error {
//		var in input
//		if err := r.ReadJSON(&in); err != nil {
//			return err // a *Problem: Fail writes it
//		}
//		l, err := r.Borrow(in.Model)
//		if err != nil {
//			return err
//		}
//		defer l.Release()
//		for t, err := range r.Chat(l, conversation) { … }
//	}
//
// Around every route [Host.Handler] checks Host, Origin and key, counts, bounds the
// body and the number of requests, and turns a panic into a Problem. A route that
// has written nothing returns its error; one that streams ends its stream with it
// and returns it, too.
package host
