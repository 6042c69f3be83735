package cpu

// Memory is the memory limit of this process and what is left of it, in bytes.
type Memory struct {
	Total     int64 // of the machine; 0 = unknown
	Limit     int64 // the smallest of that and the limits of the process's control groups; 0 = unknown
	Available int64 // what can be allocated without swapping or being killed; 0 = none, or unknown
	Stalls    Stalls
}

// Stalls is how long tasks waited for memory, in percent of the last ten seconds
// (Linux, pressure stall information).
type Stalls struct {
	Known bool
	Some  float64 // at least one task waited
	Full  float64 // all tasks waited
}

// AvailableMemory returns how many bytes this process can allocate without
// swapping or being killed: the system's available memory, limited by the
// control groups of the process. The page cache counts as available. 0 =
// unknown.
func AvailableMemory() int64 {
	r := OpenMemory()
	defer r.Close()
	return r.Read().Available
}
