// Package hw says what the machine is: cores, memories, devices and how full
// and how fast they are.
package hw
