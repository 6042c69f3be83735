//go:build race

package codebook

const raceEnabled = true
