package index

// What tests from outside see.

const Cosine = cosine
const L2 = euclidean

type GraphError = graphError

var ErrConfig = errConfig
var ErrDuplicate = errDuplicate
var ErrUnknown = errUnknown
var ErrVector = errVector
