// Package ws streams tokens over a WebSocket (RFC 6455): many answers at once in
// one connection, each with an id that the client chose.
//
//	client → server
//	{"type":"generate","id":"a","prompt":"Once upon a time","max_tokens":16}
//	{"type":"generate","id":"b","messages":[{"role":"user","content":"Hello"}]}
//	{"type":"cancel","id":"a"}
//	{"type":"ping","id":"1"}
//
//	server → client
//	{"type":"token","id":"a","text":" there"}
//	{"type":"token","id":"b","call":{"index":0,"id":"…","name":"look","arguments":"{"}}
//	{"type":"end","id":"a","finish":"stop","tokens":12}
//	{"type":"error","id":"a","code":"bad_request","message":"…"}
//	{"type":"pong","id":"1"}
//
// Every request ends with one "end" or one "error" that has its id; a canceled one
// ends with finish "cancel". An error without an id is about a message that could
// not be read. docs/serving.md has all fields.
//
// A [Handler] is mounted in a program's HTTP server. Its connections outlive the
// server's Shutdown, as all upgraded ones do: [Handler.Shutdown] ends them.
package ws
