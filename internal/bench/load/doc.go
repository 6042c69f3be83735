// Package load drives a server of OpenAI's API with many streams of completions at
// once and measures what its clients see.
//
//	Config ─▶ streams ─▶ POST /v1/completions, "stream": true ─▶ samples ─▶ Report
//	             │
//	             └─ some are cancelled after a random token, some are read slowly
//
// [Run] keeps so many requests under way until a time or a number of requests is
// over. Which prompts are sent, and which requests are cancelled or read slowly,
// follows from the seed. Any server of that API will do, so that two can be compared
// under the same load: load.go has the configuration and the streams, request.go one
// request, report.go the result.
package load
