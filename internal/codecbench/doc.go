// Package codecbench measures how much smaller codecs make tensors, and how many
// bytes of tensors a core encodes and decodes in a second of its own time.
//
//	tensors of a file, those of each element type together
//	  or made-up bfloat16 weights: normal, a scale for each row
//	every codec that is for them, some times
package codecbench
