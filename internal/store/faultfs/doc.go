// Package faultfs is a file system for tests that injects faults.
//
//	for n, fsys := range faultfs.Each(faultfs.Stop) {
//		dir := prepare(t)          // with the operating system
//		err := save(fsys, dir)     // fails at its n-th call
//		fsys.PowerCut()            // tears bytes that were not synced
//		check(t, n, err, dir)      // the old state or the new
//	}
//
// The loop ends after the first round with fewer than n calls, in which no fault
// occurred. The files are the operating system's, so that tests can inspect them
// with its calls. Syncs are only simulated for PowerCut: New(0, Stop) is a fast
// file system for tests.
package faultfs
