// Package ollama speaks Ollama's API: /api/chat, generate, tags, show, ps, embed,
// embeddings and version.
//
//	request.go   the bodies of requests, and the conversation that one means
//	options.go   how an answer is sampled and bounded
//	response.go  from tokens to lines
//	answer.go    chat and generate
//	vectors.go   embed and embeddings
//	models.go    tags, show, ps, version, and what this server does not do
//
// Answers are lines of JSON unless stream is false. The last line has times in
// nanoseconds and counts of tokens. A context that a request wants and the model
// does not have is an error: nothing is ever cut in silence.
//
// Source: docs/api.md of Ollama and the types of its Python package 0.6.
package ollama
