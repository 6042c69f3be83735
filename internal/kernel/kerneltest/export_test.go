package kerneltest

// What tests from outside see.

var Bench = bench
var DTypes = dTypes
var FuzzAttention = fuzzAttention
var FuzzFloats = fuzzFloats
var FuzzPairs = fuzzPairs
var FuzzProducts = fuzzProducts
var FuzzVectors = fuzzVectors
var Matrix = matrix
var RowTypes = rowTypes
var Run = run
