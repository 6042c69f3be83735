// Package anthropic speaks Anthropic's Messages API: /v1/messages and
// /v1/messages/count_tokens.
//
//	request.go       the body of a request
//	conversation.go  from a request to a conversation
//	response.go      from tokens to blocks and events
//	routes.go        the endpoints and their errors
//
// Blocks become messages: the results of tools are messages of their own, texts of one
// turn are one text, a last turn of the assistant is the beginning of the answer
// (prefill). An answer is made of tokens by one type, whether it is streamed or
// wanted as a whole, so that both say the same.
//
// Source: the API reference at platform.claude.com/docs/en/api/messages and the types of
// Anthropic's Python package 2.12.
package anthropic
