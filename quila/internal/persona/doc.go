// Package persona keeps the one vector that is a model's manner, across calls and
// restarts (§19, [R-19.1]).
//
//	v, err := persona.Open(persona.Config{Dim: 64, Path: path, Warn: warn})
//	x := v.Values()        // memory of the file itself
//	err = v.Set(x)         // on disk when it returns
//
//	Vector  the values and where they are kept
//	Medium  NVRAM, File or RAM
//
// Non-volatile memory is found as a file system that is mounted with direct access
// (DAX), or named in [Config.NVRAM]: a folder on one, or a device. There the values
// that are read are the stored ones. Without it a file is mapped and synced, and
// without a path they are in RAM alone; both say once that the persistence is less.
//
// The file has two slots and a change is written to the older one, with a
// number and a checksum over all of it. Whenever the power fails, one slot is
// whole: the last one whose Set returned, or the one after it.
//
//	slot 0  "QPRS" version  number  dim  CRC-32C  values …
//	slot 1  "QPRS" version  number  dim  CRC-32C  values …      the larger number counts
package persona
