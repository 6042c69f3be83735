// Package quila is the command atenia quila: what a network would need, its
// training and evaluation, and the conformance suite. It uses the public
// packages of the wing alone.
package quila
