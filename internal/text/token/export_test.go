package token

// What tests from outside see.

const GPT2 = gpt2
const Isolated = isolatedMatch
const ReLlama3 = reLlama3
const Unknown = unknownPiece

type Splitter = splitter

var ByteChar = byteChar
var Lossy = toValidUTF8
var Scanners = scanners
