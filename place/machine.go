package place

// A Machine is what atenia.Hardware found. Numbers that are not known are 0.
type Machine struct {
	ID        string // equal for equal processors, cores and sizes of memory
	Processor string // its name
	Arch      string
	Cores     int // physical ones that the process may run on
	Threads   int // that compute fastest

	MemoryBytes    uint64  // within the limits that are put on the process
	AvailableBytes uint64  // of it that may still be taken
	Pressure       float32 // part of the memory that is taken, 0 to 1

	Devices  []Device
	Unused   []string // GPUs on which nothing computes, by name
	Storage  *Storage // of the folder; nil without one
	Warnings []string // what costs speed or will fail, and what to do about it
}

// A Device is a GPU.
type Device struct {
	ID     string
	Name   string
	Driver string
	// MemoryBytes is its memory, FreeBytes what of it is not taken.
	MemoryBytes, FreeBytes uint64
	// Pressure is the part of its memory that is taken, 0 to 1.
	Pressure float32
}

// Storage is what a folder lies on. Rates are 0 unless they were measured.
type Storage struct {
	Dir        string
	Filesystem string
	Kind       string // "ssd", "hdd", "virtual disk", "memory", "network" or "unknown storage"
	FreeBytes  uint64
	ReadBytes  float64 // a second, in sequence
	WriteBytes float64 // a second, until it is on the device
	Latency    float64 // seconds of a small read, mean
}
