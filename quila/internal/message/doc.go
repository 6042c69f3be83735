// Package message is what neurons say to each other: how a hidden vector becomes
// a square of 8-bit floats, how it travels, and how a receiver adds what arrived
// and makes a vector of it again.
//
//	sender    h ──W_out, fold──▶ seeds a×a ──ConvT κ×κ, stride s──▶ payload H×H ──E4M3──▶ Message
//	receiver  Message ──place, add, count──▶ Board H×H ──k_in 8×8──▶ ──W_in──▶ h
//
//	Message   place, sender, flags and codes, and its wire form
//	Board     the count mean of the messages that a neuron reads
//	Payload   a sender's square, before rounding
//	Tile      which part of a payload a partial send needs [R-8.6b]
//	Receive   k_in and W_in
//
// The arithmetic is generic over float32 and float64: a network runs in float32,
// and the checks compare with float64. A sum of messages is made in the order in
// which they are added, so a caller that keeps one order (ascending sender, and
// of one sender ascending tick) has the same bits whatever the order in which
// messages were sent and whatever thread adds them.
//
// # Numbers
//
// Payloads are rounded from float32 to E4M3 directly, to nearest even, and
// saturate at ±448. A payload that has a NaN is dropped by its sender and
// counted; nothing else of a message can make a NaN, as the format has no
// infinities.
package message
