//go:build race

package kfe

const raceEnabled = true
