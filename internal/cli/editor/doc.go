// Package editor reads the lines a person types: with editing, history and
// pastes from a terminal, plainly from anything else.
//
//	terminal ─▶ keys (Ctrl-C and pastes become text) ─▶ x/term's editor ─▶ Reader.Read
package editor
