//go:build !linux

package cpu

func (i *Info) system() {}
