// Package serve answers the clients that people already have, of OpenAI, Anthropic,
// Ollama and MCP, with models of package atenia.
//
//	s, err := serve.New(serve.Config{Models: []serve.Model{{Path: "model.gguf"}}})
//	http.ListenAndServe("localhost:8080", s)
//
// A [Server] is an [http.Handler] to mount in a program's own [http.Server]; the
// command "atenia serve" is one such program. [Config] names the models, keys and
// limits, and its zero value serves the embedded model. [Server.Drain] and
// [Server.Close] end it.
//
//	/v1/models  /v1/chat/completions  /v1/completions  /v1/responses     OpenAI
//	/v1/conversations  /v1/embeddings  /v1/rerank  /v1/audio/transcriptions
//	/tokenize  /detokenize                                               llama-server
//	/mcp                                                                 agents, over MCP
//	/ws                                                                  tokens over a WebSocket
//	/health  /metrics  /slots  /why/{request}                            operators
//
// With [Config].Tools the server calls tools of MCP servers while it answers
// /v1/responses, and asks the client before it does unless it was told not to.
//
// A page in a browser can use a server only if [Config].Origins lists its origin, and
// only under a name that [Config].Hosts lists, an address or localhost: a page that
// rebinds its own name to the server's address is refused. Who may listen on which
// address, and whether keys are wanted there, is the program's decision.
package serve
