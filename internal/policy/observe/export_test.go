package observe

// What tests from outside see.

var NewMetrics = newMetrics
