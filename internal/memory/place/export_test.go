package place

// What tests from outside see.

type FileError = fileError

var SlotBytes = slotBytes
