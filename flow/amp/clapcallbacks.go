package amp

// cCallbacks are the addresses of the functions that a plug-in calls, 0 in
// builds that load no plug-ins.
type cCallbacks struct {
	Size, Get, Push           uintptr // of events
	Read, Write               uintptr // of streams
	Extension                 uintptr
	Restart, Start, Ask       uintptr
	Log, IsMain, IsAudio      uintptr
	Changed, Nothing, Dialect uintptr
	Activate                  uintptr
}

// callbackTable returns the addresses.
func callbackTable() cCallbacks {
	t := &callbacks
	return cCallbacks{t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15]}
}
