package place

// A Packing says whether a model's weights are packed, that is, copied to the
// order in which kernels stream them, and with which numbers that was decided.
// Results are the same bytes either way.
type Packing struct {
	Asked     string // the mode of atenia.Config.Pack: "auto", "off", "memory" or "disk"
	Mode      string // the mode that came of it: "off", "memory" or "disk"
	Matrices  int    // that have a packed form
	Bytes     int64  // of the packed form
	Source    int64  // bytes of the same rows in the model's files
	Available int64  // bytes of memory that could be taken; 0 = not known
	Reserve   int64  // bytes of it that are left to others
	// Evict is set when memory cannot hold both forms: the source is then also
	// taken out of the file system's cache.
	Evict   bool
	Because string // the reason for the mode
	Path    string // of the packed file, for "disk"
	Wrote   bool   // the file was made when the model was opened
	Held    int64  // bytes of weights in memory that were packed where they stay
	// Fault is what is wrong with packed files that could not be used, nil if
	// nothing is.
	Fault error

	Line string `json:"-"` // all of it in one: the mode, the reason and the numbers
}

// String is Line.
func (p Packing) String() string { return p.Line }
