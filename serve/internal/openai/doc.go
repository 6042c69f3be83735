// Package openai answers clients of OpenAI's API.
//
//	POST /v1/chat/completions       chat.go      conversation in, choices out
//	POST /v1/completions            complete.go  text or ids in, choices out
//	POST /v1/responses              respond.go   items in (history.go), items out (items.go), tools of MCP servers (mcp.go)
//	POST /v1/embeddings             embed.go     texts in, vectors out
//	POST /v1/rerank, /rerank        embed.go     query and documents in, scores out
//	POST /v1/audio/transcriptions   audio.go     a sound in, text out
//	GET  /v1/models, /v1/models/ID  routes.go
//	POST /tokenize, /detokenize     tokens.go    llama-server's and vLLM's
//
// A request becomes a conversation or a prompt of package atenia (ask.go, content.go,
// tools.go). Its tokens are gathered in an answer, which is written whole, or piece
// by piece as they come: the same tokens in the same order, so both say the same.
package openai
