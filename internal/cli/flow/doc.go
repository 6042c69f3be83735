// Package flow is the command "atenia flow", which runs graphs of streams.
//
//	run     plan, sound files → sound files
//	check   plan → what follows from it, or where it is wrong
//	draw    plan → SVG
//	grad    plan, files, loss → gradients of parameters
//	nodes   types of nodes
//	bench   what a block costs on this machine
//
// It uses package flow and those below it, which are public, as any other
// program would.
package flow
