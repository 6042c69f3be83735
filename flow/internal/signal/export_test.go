package signal

// What tests from outside see.

var SteepTaps = steepTaps
