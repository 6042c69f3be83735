// Package passes measures passes over a model's weights, one token each, and
// what the machine could do at best.
//
//	Run           seconds, bytes read, memory, overlap of each pass
//	MeasureRates  disk and memory, alone and both at once
package passes
