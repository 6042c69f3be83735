package stores

import (
	"errors"
	"fmt"
)

// A Level is one of the five memories.
type Level uint8

// The levels.
const (
	L1 Level = 1 + iota
	L2
	L3
	L4
	L5
)

// String returns L1 to L5.
func (l Level) String() string { return fmt.Sprintf("L%d", uint8(l)) }

// InRAM reports whether a page of that level has bytes that can be read.
func (l Level) InRAM() bool { return l >= L1 && l <= L4 }

// next are the levels that a page may move to.
var next = [...][]Level{L1: {L2}, L2: {L1, L3}, L3: {L2, L4, L5}, L4: {L3, L5}, L5: {L3, L4}}

// legal reports whether a page may move from one level to another in one step.
func legal(from, to Level) bool {
	if from < L1 || from > L5 {
		return false
	}
	for _, l := range next[from] {
		if l == to {
			return true
		}
	}
	return false
}

// The errors of a move, for [errors.Is].
var (
	ErrTransition = errors.New("illegal move between levels")
	errNoPage     = errors.New("no such page")
	ErrNoFolder   = errors.New("there is no folder for L5")
)

// A moveError says which page could not move where. It matches [ErrTransition].
type moveError struct {
	Page     string
	From, To Level
}

func (e *moveError) Error() string {
	return fmt.Sprintf("page %s: no step from %v to %v", e.Page, e.From, e.To)
}

// Is reports whether target is [ErrTransition].
func (e *moveError) Is(target error) bool { return target == ErrTransition }

// A Tag says what a page is for.
type Tag string

// The tags. Those of what a device works on are allocated as managed memory, Req
// 9.1.1 and 22.1.1.
const (
	State   Tag = "state"
	Param   Tag = "param"
	KFEHot  Tag = "kfe-hot"
	WMQHot  Tag = "wmq-hot"
	WMQCold Tag = "wmq-cold"
	SCT     Tag = "sct"
	Engram  Tag = "engram"
	NMDB    Tag = "nmdb"
)

// Managed reports whether memory of that tag is allocated as managed memory.
func (t Tag) Managed() bool { return t == State || t == Param || t == KFEHot || t == WMQHot }

// An Advice is what a driver is told about the use of managed memory.
type Advice uint8

// The advice: where pages stay, and who reads them without moving them.
const (
	PreferDevice Advice = iota // cudaMemAdviseSetPreferredLocation, the device
	PreferCPU                  // cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId
	AccessedBy                 // cudaMemAdviseSetAccessedBy, the device
)

// String returns the name of the advice.
func (a Advice) String() string {
	return [...]string{"PreferDevice", "PreferCPU", "AccessedBy"}[a]
}

// A Device is told what becomes of pages. The calls come in the order in which
// things happen, before the bytes of an allocation are used and before those of a
// free are gone. It must be safe for concurrent use.
type Device interface {
	// Alloc tells of memory: managed, or the host's alone.
	Alloc(tag Tag, page string, bytes int, managed bool)
	Advise(page string, a Advice)
	// Prefetch asks for a page to be brought to a level before it is used.
	Prefetch(page string, to Level)
	Free(page string)
}

// noDevice is a machine without one.
type noDevice struct{}

func (noDevice) Alloc(Tag, string, int, bool) {}
func (noDevice) Advise(string, Advice)        {}
func (noDevice) Prefetch(string, Level)       {}
func (noDevice) Free(string)                  {}
