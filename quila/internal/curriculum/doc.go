// Package curriculum takes a network through the stages of supervised training
// [R-2.6c]:
//
//	a  the first tenth   stream training alone; then the consistency model may be distilled
//	b  to 70 %           the library of key features, once the gate of Req 16.1.1 is open;
//	                     every eighth step a closed-book batch of the look-up memory
//	c  to the end        refractory counters, E4M3 messages, five ticks, the cap's ramp
//
// A [Curriculum] is a pupil of package school that changes the options of its
// streams from stage to stage.
package curriculum
