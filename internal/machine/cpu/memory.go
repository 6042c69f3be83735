package cpu

// Memory is the memory limit of this process and what is left of it, in bytes.
type Memory struct {
	Total     int64 // of the machine; 0 = unknown
	Limit     int64 // the smallest of that and the limits of the process's control groups; 0 = unknown
	Available int64 // what can be allocated without swapping or being killed; 0 = none, or unknown
	Stalls    Stalls

	// The control group with the least left, of those that have a limit: 0 = none
	// has. Free is of the machine alone. Limits are the smaller of the hard one
	// and of the one above which a group is slowed down (memory.high).
	GroupLimit, GroupAvailable int64
	Free                       int64
	// Own is what this process has, without pages of files, which can be dropped
	// at any time: those are Mapped. 0 = unknown.
	Own, Mapped int64
}

// Stalls is how long tasks waited for memory, in percent of the last ten seconds
// (Linux, pressure stall information).
type Stalls struct {
	Known bool
	Some  float64 // at least one task waited
	Full  float64 // all tasks waited
}
