// Package quila is a language model made of neurons that send each other
// messages: a grid in which every neuron has its own weights, ports that read
// the grid and speak for it, and stores in which it remembers.
//
//	c, err := config.Profile("nano")
//
// A profile's constants are in package config.
package quila
