// Package dialect answers clients of OpenAI's, Anthropic's and Ollama's APIs.
//
//	POST /v1/chat/completions       openaichat.go    conversation in, choices out
//	POST /v1/completions            complete.go      text or ids in, choices out
//	POST /v1/responses              respond.go       items in (history.go), items out (items.go), tools of MCP servers (mcp.go)
//	/v1/responses/ID, /v1/conversations    storeroutes.go: what is kept (store.go, storefile.go), background.go
//	POST /v1/embeddings, /rerank    openaiembed.go   texts in, vectors or scores out
//	POST /v1/audio/transcriptions   audio.go         a sound in, text out
//	POST /v1/verify                 verify.go       a receipt in, whether the answer is the same out
//	POST /tokenize, /detokenize     tokens.go        llama-server's and vLLM's
//	GET  /v1/models, /v1/models/ID  openai.go
//	POST /v1/messages               anthropic.go     blocks in (anthropicconversation.go), blocks out (anthropicresponse.go)
//	POST /api/chat, /api/generate   ollama.go        lines of JSON out (ollamaresponse.go)
//	POST /api/embed                 ollamaembed.go
//	GET  /api/tags, /api/ps, …      ollamamodels.go
//	POST /completion, /embedding, /apply-template; GET /props, /models    llama.go    llama-server's own
//	GET  /ws                        handler.go      messages of a WebSocket, many answers at once
//
// A request becomes a conversation or a prompt of package atenia. The tokens of the
// answer are gathered by one type of each dialect, whether it is written whole or piece
// by piece as they come: both say the same.
//
// Of Anthropic, the results of tools become messages of their own, texts of one turn are
// one text, and a last turn of the assistant is the beginning of the answer (prefill). Of
// Ollama, a context that a request wants and the model does not have is an error: nothing
// is ever cut in silence.
//
// Sources: the API references of OpenAI and of Anthropic (platform.claude.com/docs), the
// types of Anthropic's Python package 2.12, docs/api.md of Ollama and the types of its
// Python package 0.6.
package dialect
