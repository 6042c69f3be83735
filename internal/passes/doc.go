// Package passes measures passes over a model's weights, one token each:
// seconds, bytes read, memory, and overlap of reading and computing.
package passes
