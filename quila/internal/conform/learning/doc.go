// Package learning has the conformance rows of training: the optimizer and where
// its moments live, what a checkpoint keeps, the gate before the library, and how
// well and how fast a nano learns (section 4.7, Req 5.1.1 and 16.1.1).
//
// Oracles are written out here and share nothing with what they check but the
// network itself.
package learning
