//go:build !unix

package durable

import "os"

func openNow(path string) (*os.File, error) { return os.Open(path) }
