// Package faultfs is a file system for tests that fails where it is told to.
//
//	for n, fsys := range faultfs.Each(faultfs.Stop) {
//		dir := prepare(t)          // with the operating system
//		err := save(fsys, dir)     // fails at its n-th call
//		fsys.PowerCut()            // bytes that were not synced are torn
//		check(t, n, err, dir)      // the old state or the new
//	}
//
// The loop ends after the first round that made fewer calls than n, which is
// the one without a fault. It works on the operating system's files, so that
// what is left can be looked at with its calls. Nothing is really synced, since
// only PowerCut would show: New(0, Stop) is a fast file system for tests.
package faultfs
