// Package trainbench measures the cost of training with parameters, moments and
// master weights in files.
//
//	passes   forward and backward products of a stack of square layers, on
//	         synthetic activations: computation to overlap I/O with
//	Run      steps in files and in memory alternately, on the same passes
//
// The passes have a model's sizes but compute nothing meaningful.
package trainbench
