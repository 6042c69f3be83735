// Package flow is the command "atenia flow", which runs graphs of streams.
//
//	run     plan, sound files → sound files
//	check   plan → rates, delays and order, or errors with positions
//	draw    plan → SVG
//	grad    plan, files, loss → gradients of parameters
//	nodes   the types of nodes
//	bench   the cost of a block on this machine
//
// It uses only the public API of package flow and the packages below it.
package flow
