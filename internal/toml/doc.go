// Package toml reads files of settings: recipes of training and of fits, settings of a
// server. The syntax is TOML 1.0 (https://toml.io), decoded by a library whose time and
// memory grow with the square of some inputs; what a person does not write is refused
// before it sees it.
//
//	file ──▶ at most 1 MiB ──▶ nesting, parts of keys, number of keys ──▶ decoder ──▶ struct, unknown keys
package toml
