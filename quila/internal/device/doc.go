// Package device describes how a network runs on accelerators: which memory is
// managed by the driver, where its pages prefer to be, and which work goes to
// which stream. One interface stands for the driver; behind it a recorder keeps
// the calls, so that the schedule is checked where no device exists.
//
//	Driver    memory, advice, streams and launches
//	Recorder  a Driver that keeps a trace and has no device
//	Layout    the pages of a network on some devices
//	Check     what of the rules a trace breaks
//
// A network's states, parameters, hot entries and hot queues lie in managed
// memory (requirements 9.1.1, 22.1.1). Every page of parameters is advised to
// its device before the first launch that reads it (22.1.2), and nothing is
// copied from device to device by hand (22.1.3): the driver moves pages.
//
//	device 0   streams 0–5  batches of neurons, round-robin
//	           stream 6     messages that cross devices
//	           stream 7     sums over devices, after 0–5 of the step
//	           streams 8–   ports, on device 0 only
package device
