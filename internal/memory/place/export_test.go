package place

// What tests from outside see.

type FileError = fileError

var SlotBytes = slotBytes

// RateOfChosen is [chosenRate].
var RateOfChosen = chosenRate
