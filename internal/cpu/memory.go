package cpu

// Memory is what this process may take and has left, in bytes.
type Memory struct {
	Total     int64 // of the machine; 0 = not known
	Limit     int64 // the least of that and the limits of the process's control groups; 0 = not known
	Available int64 // what may still be taken without making the system swap or end the process; 0 = none, or not known
	Stalls    Stalls
}

// Stalls is how long the machine waited for memory, in percent of the last ten
// seconds (Linux, pressure stall information).
type Stalls struct {
	Known bool
	Some  float64 // a task or more waited
	Full  float64 // all of them did
}

// AvailableMemory returns how many bytes this process may still take without
// making the system swap or end it: what the system says is available, bounded
// by the control groups of the process. Pages of files that are only cached
// count as available. 0 = not known.
func AvailableMemory() int64 {
	r := OpenMemory()
	defer r.Close()
	return r.Read().Available
}
