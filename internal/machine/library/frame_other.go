//go:build static || !linux || !(amd64 || arm64)

package library

// Do makes the call, by [Call].
func (f *Frame) Do() uintptr {
	f.Result = Call(f.Fn, f.Args[:]...)
	return f.Result
}
